"""A loop's events for ended processes where there are no pidfds: SIGCHLD, kqueue, and a slow timer for what is left."""

import asyncio
import select
import signal
import sys
from collections.abc import Callable

CHECK_SECONDS = 0.5
"""How often all watched processes are polled; SIGCHLD tells of own children at once."""


class PortableWatch:
    """Calls ``check`` whenever a watched process may have ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, check: Callable[[], None]) -> None:
        self._loop = loop
        self._check = check
        self._timer = loop.call_later(CHECK_SECONDS, self._tick)
        self._has_signal = True
        try:
            loop.add_signal_handler(signal.SIGCHLD, check)
        except (RuntimeError, ValueError):  # signals are told to the main thread alone: the timer has to do
            self._has_signal = False
        if sys.platform != "linux":
            self._queue = select.kqueue()
            loop.add_reader(self._queue.fileno(), self._events)

    def add(self, pid: int) -> None:
        """Be told when ``pid`` ends, whoever's child it is."""
        if sys.platform != "linux":
            exits = select.kevent(
                pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD | select.KQ_EV_ONESHOT, select.KQ_NOTE_EXIT
            )
            try:
                self._queue.control([exits], 0)
            except ProcessLookupError:  # ended already: the first poll will find that
                return

    def close(self) -> None:
        self._timer.cancel()
        if self._has_signal:
            self._loop.remove_signal_handler(signal.SIGCHLD)
        if sys.platform != "linux":
            self._loop.remove_reader(self._queue.fileno())
            self._queue.close()

    def _tick(self) -> None:
        self._check()
        self._timer = self._loop.call_later(CHECK_SECONDS, self._tick)

    def _events(self) -> None:
        if sys.platform != "linux":
            self._queue.control(None, 64, 0)
        self._check()
