"""Whether one worker alone keeps up with the work that it has."""

import time
from collections.abc import Callable

LOOK_EVERY = 2.0
"""Seconds between two looks, while there is more than one page."""
BUSY = 0.5
"""Share of a core from which on another worker is wanted: pages begin to wait for each other's turns."""


class Load:
    """What this process uses of a core, and whether it may take no more pages though there are tabs for them.

    CPU is what counts, not how late things are: where no core is left, another worker would only take its part of them.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, used: Callable[[], float] = time.process_time
    ) -> None:
        self._clock, self._used = clock, used
        self._before = clock(), used()
        self._was_much = False

    def is_too_much(self, *, is_full: bool) -> bool:
        """At two looks in a row: a first page brings its imports, and one that ends soon makes room."""
        (began, used_before), self._before = self._before, (self._clock(), self._used())
        seconds, used = self._before[0] - began, self._before[1] - used_before
        was_much, self._was_much = self._was_much, is_full or used >= BUSY * seconds
        return was_much and self._was_much
