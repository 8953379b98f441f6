"""Owns when a process of ours is started again after its death."""

import time

CRASH_DELAY = (0.0, 0.0, 0.5, 2.0, 5.0)
"""Seconds before one is started again, by how many died within a minute of their start."""
EARLY = 60.0


class Restarts:
    """The starts of one kind of process."""

    def __init__(self) -> None:
        self.at = 0.0
        self._early_deaths = 0

    @property
    def is_time(self) -> bool:
        return time.monotonic() >= self.at

    def not_before(self, moment: float) -> None:
        self.at = max(self.at, moment)

    def record_death(self, *, lived: float, exit_code: int | None) -> None:
        self._early_deaths = self._early_deaths + 1 if lived < EARLY and exit_code != 0 else 0
        self.at = time.monotonic() + CRASH_DELAY[min(self._early_deaths, len(CRASH_DELAY) - 1)]
