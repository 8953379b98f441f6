"""Owns a clock that goes on while the machine is suspended, and that nobody sets."""

import sys
import time


def seconds_since_boot() -> float:
    """Return seconds since some moment of this boot: with the time asleep on Linux, without it elsewhere."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()
