"""Ends a page that takes more memory than a page may, before the machine has none left for the others.

The limit of V8's heap does not see what buffers take: such a page reached 8.8 GB. A renderer is one page's (or those of
a site, where there are many); what it has for itself is read twice a second, for 0.1 ms.
"""

from __future__ import annotations

import os
import signal

from archivebox.plugins.base import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

LOOK_AGAIN = 0.5  # seconds; a page fills a gigabyte in that time at most
OWN = ("RssAnon:", "RssShmem:")  # of /proc/<pid>/status (proc(5)): what would be free without it, in kB
MB = 1 << 20


def end_the_greedy(processes: Params, most: int) -> None:
    """Kill those renderers of an answer to SystemInfo.getProcessInfo that have more than `most` bytes."""
    for process in processes.get("processInfo", ()):
        if process["type"] == "renderer" and own_memory(process["id"]) > most:
            end_renderer(process["id"], most)


def own_memory(pid: int) -> int:
    """Return the bytes that a process has for itself, 0 where there is no such process."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(OWN)) * 1024


def end_renderer(pid: int, most: int) -> None:
    """Kill exactly the process that is too large: a descriptor first, then a second look."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if own_memory(pid) > most:
            log(f"ending a page that has more than {most // MB:,} MB of memory")
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)
