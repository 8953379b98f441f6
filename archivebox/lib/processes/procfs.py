"""The only reader of Linux's ``/proc`` (proc(5)); lean, because every started hook passes through here."""

# ruff: noqa: PTH116, PTH123, PTH208
# A Path costs more than the system call it stands for, and 1,200 starts a second go through here.

import os
import time
from collections.abc import Callable
from functools import cache

from archivebox.lib.processes.process_info import ProcessInfo

_READ = os.O_RDONLY | os.O_CLOEXEC


def _read(path: str, *, one_piece: bool = False) -> bytes | None:
    """The whole file, or None when the process is gone (ENOENT, ESRCH) or not ours to read (EACCES).

    Only an empty read is the end: of a long list the kernel gives whole entries, a page (4 KB) at most at a time.
    ``one_piece``: it is known to be short, one read gives all of it.
    """
    try:
        fd = os.open(path, _READ)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    try:
        data = os.read(fd, 65536)
        while data and not one_piece and (more := os.read(fd, 65536)):
            data += more
    except (ProcessLookupError, PermissionError):
        return None
    finally:
        os.close(fd)
    return data


@cache
def boot_id() -> str:
    """Random name of this boot of the machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


@cache
def pid_namespace() -> int:
    """Inode of the pid namespace: two containers on one host share the boot id and reuse low pids."""
    return os.stat("/proc/self/ns/pid").st_ino


def inspect(pid: int) -> ProcessInfo | None:
    """What ``pid`` is now; None: there is no such process.

    A process whose first thread has ended while others run shows state Z too, but has more than one thread.
    """
    data = _read(f"/proc/{pid}/stat", one_piece=True)
    if not data:
        return None
    fields = data[data.rfind(b")") + 2 :].split(b" ", 20)
    gone = fields[0] in {b"Z", b"X"} and int(fields[17]) <= 1
    return ProcessInfo(int(fields[19]), int(fields[1]), int(fields[3]), gone)


def running_for(start_ticks: int) -> float:
    """Seconds since that moment, which is counted in clock ticks since the boot."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start_ticks / os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    """Pids of the direct children, zombies included, of all threads of ``pid``."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []
    found: list[int] = []
    for thread in threads:
        data = _read(f"/proc/{pid}/task/{thread}/children")
        if data:
            found.extend(map(int, data.split()))
    return found


def kinship() -> Callable[[int], list[int]]:
    """What answers who is whose child, for one walk; here by asking the kernel for each."""
    return children_of


def environment_of(pid: int) -> bytes | None:
    """Environment block at the process's exec, entries ended by NUL; None: gone, a zombie, or not ours to read."""
    return _read(f"/proc/{pid}/environ") or None


def all_pids() -> list[int]:
    """Every pid of this pid namespace."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]
