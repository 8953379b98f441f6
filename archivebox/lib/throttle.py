"""Owns how often somebody may do something, such as guess a password."""

import threading
import time
from collections import deque
from collections.abc import Sequence

WINDOW = 300.0
"""Seconds that an attempt counts."""
LIMIT = 5
"""Attempts in the window after which the next has to wait."""
_KEYS = 10_000
"""Names and addresses remembered; beyond that the oldest are forgotten, so that guessing cannot fill the memory."""


def seconds_to_wait(attempts: Sequence[float], now: float, *, count: int, limit: int, window: float) -> int:
    """Seconds until ``count`` more may be made after ``attempts``, which are in the order of time; 0: now."""
    excess = len(attempts) + count - limit
    return int(attempts[excess - 1] + window - now) + 1 if excess > 0 else 0


class Throttle:
    """Attempts by key, in memory: one process serves all pages of a machine, and no guesser can restart it."""

    def __init__(self, limit: int = LIMIT, window: float = WINDOW) -> None:
        self._limit = limit
        self._window = window
        self._attempts: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def attempt(self, key: str, now: float | None = None, *, count: int = 1) -> int:
        """Count an attempt and return 0, or return the seconds until one may be made, which counts nothing.

        ``count``: attempts that are made together, at most the limit. Counted before it is known how it ends: of many
        at once no more than the limit get to the password.
        """
        moment = time.monotonic() if now is None else now
        with self._lock:
            attempts = self._attempts.pop(key, deque())
            while attempts and attempts[0] + self._window <= moment:
                attempts.popleft()
            self._attempts[key] = attempts  # the latest is last
            while len(self._attempts) > _KEYS:
                self._attempts.pop(next(iter(self._attempts)))
            wait = seconds_to_wait(attempts, moment, count=count, limit=self._limit, window=self._window)
            if not wait:
                attempts.extend([moment] * count)
            return wait

    def is_used_up(self, key: str) -> bool:
        """Whether the next attempt has to wait."""
        with self._lock:
            return len(self._attempts.get(key, ())) >= self._limit

    def succeeded(self, key: str) -> None:
        """The latest attempt was right: it counts no more. Those of others do."""
        with self._lock:
            if attempts := self._attempts.get(key):
                attempts.pop()
