"""Owns how much longer everything takes on a machine whose processors are wanted by more than they can serve."""

import os

from archivebox.lib.cpu_quota import reached_quota

LONGEST = 3.0
"""Times that a deadline is extended at most, however much waits for a processor."""
MOST = 600.0
"""Seconds by which it is extended at most."""
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


def extended(seconds: float) -> float:
    """Return how long something may take now that may take so many seconds on an idle machine."""
    return min(seconds * slowdown(), seconds + MOST)
