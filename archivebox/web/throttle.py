"""Owns how often somebody may guess a password."""

import threading
import time
from collections import deque

WINDOW = 300.0
"""Seconds that a failed attempt counts."""
LIMIT = 5
"""Failed attempts in the window after which the next has to wait."""
_KEYS = 10_000
"""Names and addresses remembered; beyond that the oldest are forgotten, so that guessing cannot fill the memory."""


class Throttle:
    """Failed attempts by key, in memory: one process serves all pages, and no guesser can restart it."""

    def __init__(self, limit: int = LIMIT, window: float = WINDOW) -> None:
        self._limit = limit
        self._window = window
        self._failures: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait_for(self, *keys: str, now: float | None = None) -> int:
        """Seconds until the next attempt may be made; 0: now."""
        moment = time.monotonic() if now is None else now
        with self._lock:
            return max((self._wait(self._failures.get(key), moment) for key in keys), default=0)

    def _wait(self, failures: deque[float] | None, now: float) -> int:
        if failures is None or len(failures) < self._limit:
            return 0
        return max(0, int(failures[0] + self._window - now + 0.999))

    def failed(self, *keys: str, now: float | None = None) -> None:
        moment = time.monotonic() if now is None else now
        with self._lock:
            for key in keys:
                failures = self._failures.pop(key, deque(maxlen=self._limit))
                failures.append(moment)
                self._failures[key] = failures  # the latest is last
            while len(self._failures) > _KEYS:
                self._failures.pop(next(iter(self._failures)))

    def succeeded(self, *keys: str) -> None:
        with self._lock:
            for key in keys:
                self._failures.pop(key, None)
