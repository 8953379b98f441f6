"""Owns how often somebody may do something, such as guess a password."""

import threading
import time
from collections import deque

WINDOW = 300.0
"""Seconds that an attempt counts."""
LIMIT = 5
"""Attempts in the window after which the next has to wait."""
_KEYS = 10_000
"""Names and addresses remembered; beyond that the oldest are forgotten, so that guessing cannot fill the memory."""


class Throttle:
    """Attempts by key, in memory: one process serves all pages, and no guesser can restart it."""

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
            excess = len(attempts) + count - self._limit
            if excess > 0:
                return int(attempts[excess - 1] + self._window - moment) + 1
            attempts.extend([moment] * count)
            return 0

    def is_used_up(self, key: str) -> bool:
        """Whether the next attempt has to wait."""
        with self._lock:
            return len(self._attempts.get(key, ())) >= self._limit

    def succeeded(self, key: str) -> None:
        """The latest attempt was right: it counts no more. Those of others do."""
        with self._lock:
            if attempts := self._attempts.get(key):
                attempts.pop()
