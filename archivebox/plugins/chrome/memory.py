"""Ends a page that takes more memory than a page may, before the machine has none left for the others.

The limit of V8's heap does not see what buffers take: such a page reached 8.8 GB. A renderer is one page's (or those of
a site, where there are many); what it has for itself is read twice a second, for 0.1 ms.
"""

from __future__ import annotations

import json
import os
import signal
import time

from archivebox.plugins.base import log, write_atomically
from archivebox.plugins.base.tab import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

LOOK_AGAIN = 0.5  # seconds; a page fills a gigabyte in that time at most
OWN = ("RssAnon:", "RssShmem:")  # of /proc/<pid>/status (proc(5)): what would be free without it, in kB
MB = 1 << 20
LATEST = "memory.json"  # when a page was last ended for its memory, for those who hold the pages
JUST_NOW = 3.0  # seconds in which the holder of a page learns that it was ended


def end_large_renderers(processes: Params, most: int) -> None:
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
            _note_end()
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)


def _note_end() -> None:
    """Write down, beforehand, that we end a page: its holder sees a kill, which may also be somebody else's."""
    try:
        write_atomically(LATEST, json.dumps({"ended_at": time.monotonic()}))
    except OSError as error:
        log(f"not written down, so that the page is opened anew: {error}")


def was_ended_just_now(folder: str) -> bool:
    """Return whether the browser's hook, which works in `folder`, has ended a page for its memory in this moment."""
    record = read_json(os.path.join(folder, LATEST))
    return record is not None and 0 <= time.monotonic() - record["ended_at"] < JUST_NOW
