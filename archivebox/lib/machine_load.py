"""Owns how much longer everything takes on a machine whose processors are wanted by more than they can serve."""

import os

LONGEST = 3.0
"""Times that a deadline is extended at most, however much waits for a processor."""
MOST = 600.0
"""Seconds by which it is extended at most."""
BUSY = 1.5
"""Times from which on the machine counts as busy: what was too slow there may be quick enough at another time."""


def slowdown() -> float:
    """Return how many times as long work takes now, 1 to LONGEST: those that want to run, for each processor.

    By the load of the last minute, which on Linux counts who waits for a disk as well.
    """
    try:
        wanted = os.getloadavg()[0]
    except OSError:
        return 1.0
    return min(max(wanted / (os.cpu_count() or 1), 1.0), LONGEST)


def is_busy() -> bool:
    """Return whether work takes much longer now than on an idle machine."""
    return slowdown() >= BUSY


def extended(seconds: float) -> float:
    """Return how long something may take now that may take so many seconds on an idle machine."""
    return min(seconds * slowdown(), seconds + MOST)
