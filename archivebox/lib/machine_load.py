"""Owns how much longer everything takes on a machine that has too few processors or too little memory for its work."""

import os
from contextlib import suppress
from functools import lru_cache

LONGEST = 3.0
"""Times that a deadline is extended at most, however much waits for a processor."""
MOST = 600.0
"""Seconds by which it is extended at most."""
MEMORY_PRESSURE = "/proc/pressure/memory"
SHORT_OF_MEMORY = 10.0
"""Per cent of the time from which on the machine counts as short of memory."""
BUSY = 1.5
"""Times from which on the machine counts as busy: what was too slow there may be quick enough at another time."""


def slowdown() -> float:
    """Return how many times as long work takes now, 1 to LONGEST: those that want to run, for each processor.

    By the load of the last minute, which on Linux counts who waits for a disk as well. In a container that has used up
    its quota of processor time, that quota is all there is of processors. The load is of the whole machine there, so
    that a busy neighbour may make a deadline longer than it has to be, never shorter.
    """
    try:
        wanted = os.getloadavg()[0]
    except OSError:
        return 1.0
    processors = float(os.cpu_count() or 1)
    return min(max(wanted / min(processors, reached_quota() or processors), 1.0), LONGEST)


def is_busy() -> bool:
    """Return whether work takes much longer now than on an idle machine."""
    return slowdown() >= BUSY


def is_short_of_memory() -> bool:
    """Return whether something waited for memory during a tenth of the last minute (Linux, accounting/psi)."""
    with suppress(OSError, ValueError, IndexError), open(MEMORY_PRESSURE, encoding="ascii") as file:  # noqa: PTH123
        return float(file.readline().split()[2].removeprefix("avg60=")) >= SHORT_OF_MEMORY
    return False


def available_memory() -> int | None:
    """Return the bytes of memory that could be had without swapping (proc_meminfo(5)); None where nobody tells."""
    with suppress(OSError, ValueError, IndexError), open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:")), None)
    return None


def can_spare(memory: int) -> bool:
    """Return whether so many bytes may be taken while nobody uses them yet; where nobody tells, they may."""
    available = available_memory()
    return not is_short_of_memory() and (available is None or available >= memory)


def extended(seconds: float, delayed: float = 0.0) -> float:
    """Return how long something may take now that may take so many seconds on an idle machine.

    ``delayed``: seconds for which it was ready to run while others had the processors.
    """
    return min(max(seconds * slowdown(), seconds + delayed), seconds * LONGEST, seconds + MOST)


def seconds_delayed(pid: int | None = None) -> int:
    """Return for how many whole seconds a process, by default this one, was ready to run while others did.

    Of its first thread, by the second number of Linux's schedstat; 0 where the system does not tell.
    """
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid or 'self'}/schedstat", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[1]) // 10**9
    return 0


CGROUPS = "/sys/fs/cgroup"
MEMBERSHIP = "/proc/self/cgroup"
"""A line for each hierarchy, `number:controllers:path`; of version 2 `0::path` (cgroups(7))."""


@lru_cache(maxsize=1)
def limiting_group() -> tuple[str, float] | None:
    """Return the folder of the group with the smallest quota, and its processors; None where nothing is limited.

    Of the group that this process is in and those above it. Asked once: a quota rarely changes.
    """
    groups = [(folder, quota) for folder in _folders() if (quota := _quota(folder)) is not None]
    return min(groups, key=lambda group: group[1], default=None)


def reached_quota() -> float | None:
    """Return the quota in processors, if the group has ever been held back by it; None else.

    A quota that was never reached slows nothing down, whatever else the machine does.
    """
    group = limiting_group()
    return group[1] if group is not None and _throttled(group[0]) else None


def _folders() -> list[str]:
    """The folders that may have a quota for this process, by both versions; the path of one is as its mount shows it.

    In a container the path may be that of the host, below which nothing is mounted: then the mount itself is the group.
    """
    folders: list[str] = []
    for line in _lines(MEMBERSHIP):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            mounts = [CGROUPS, f"{CGROUPS}/unified"]
        elif "cpu" in controllers.split(","):
            mounts = [f"{CGROUPS}/{controllers}", f"{CGROUPS}/cpu"]
        else:
            continue
        for mount in mounts:
            names = [name for name in path.split("/") if name]
            folders += ["/".join([mount, *names[:count]]) for count in range(len(names), -1, -1)]
    return folders


def _quota(folder: str) -> float | None:
    """Processors that a group may use; None where it has no limit, or there is no such group."""
    limit = _words(f"{folder}/cpu.max")  # "quota period" or "max period", in microseconds
    if len(limit) != 2:
        limit = _words(f"{folder}/cpu.cfs_quota_us") + _words(f"{folder}/cpu.cfs_period_us")  # version 1; -1: no limit
    try:
        quota, period = map(int, limit)
    except ValueError:  # "max", or not two numbers
        return None
    return quota / period if quota > 0 and period > 0 else None


def _throttled(folder: str) -> int:
    """How many periods ended with the group held back."""
    counts = dict(line.split(" ", 1) for line in _lines(f"{folder}/cpu.stat") if " " in line)
    return int(counts.get("nr_throttled", "0"))


def _words(path: str) -> list[str]:
    return " ".join(_lines(path)).split()


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123  (pathlib costs half of a hook's start)
            return file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
