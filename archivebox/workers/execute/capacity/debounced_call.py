"""Calls that are made after one and the same time, of which most are called off before."""

import asyncio
from collections.abc import Callable

Work = Callable[[], object]


class DebouncedCall:
    """Calls by key, each ``seconds`` after it was asked for; one timer of the loop for all of them.

    A timer of its own for each is compared with every other that waits, in Python: 2 % of the time of a busy worker.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._waiting: dict[object, tuple[float, Work]] = {}
        """When and what, by key; the first is due first, as all wait equally long."""
        self._timer: asyncio.TimerHandle | None = None

    def add(self, key: object, work: Work) -> None:
        """Call ``work`` once the time is over; what was asked for by the same key is called off."""
        self._waiting.pop(key, None)
        self._waiting[key] = self._loop.time() + self._seconds, work
        if self._timer is None:
            self._set_timer()

    def discard(self, key: object) -> None:
        """Call it off; a key that is not there is no error."""
        self._waiting.pop(key, None)

    def _set_timer(self) -> None:
        due = next((due for due, _ in self._waiting.values()), None)
        self._timer = None if due is None else self._loop.call_at(due, self._call_those_due)

    def _call_those_due(self) -> None:
        now = self._loop.time()
        for key, (due, work) in list(self._waiting.items()):
            if due > now:
                break
            if self._waiting.pop(key, None) is not None:  # not called off by one before it
                work()
        self._set_timer()
