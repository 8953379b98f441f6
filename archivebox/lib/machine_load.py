"""Owns how much longer everything takes on a machine that has too few processors or too little memory for its work."""

import os
from contextlib import suppress

from archivebox.lib.cpu_quota import reached_quota

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
