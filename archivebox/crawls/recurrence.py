"""Owns when something comes again: at times of the clock in a time zone, or after a length of time.

Pure: reads no row and no clock of its own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

WORDS = {
    "hourly": "0 * * * *",
    "daily": "0 0 * * *",
    "weekly": "0 0 * * 0",
    "monthly": "0 0 1 * *",
    "yearly": "0 0 1 1 *",
}
"""Times of the clock that have a name, as in crontab(5)."""
UNITS = {"hour": "hourly", "day": "daily", "week": "weekly", "month": "monthly", "year": "yearly"}
"""What ArchiveBox 0.7 called them."""
FIELDS = 5
"""Of a cron expression; one with seconds has a sixth, and would be too often."""
GIVE = "Give hourly, daily, weekly, monthly, yearly, a length such as 6h or 2d, or a cron expression of five fields."
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""What comes again comes after it."""
_LENGTH = re.compile(r"(?:every\s+)?(\d{1,4})\s*(m|min|minutes?|h|hours?|d|days?|w|weeks?)")
_UNITS = {
    "w": ("week", timedelta(weeks=1)),
    "d": ("day", timedelta(days=1)),
    "h": ("hour", timedelta(hours=1)),
    "m": ("minute", timedelta(minutes=1)),
}
"""By first letter, the longest first."""


@dataclass(frozen=True, slots=True)
class Interval:
    """After so long each time, whatever clocks are set to."""

    length: timedelta

    def next_after(self, now: datetime, last: datetime) -> datetime:
        """The first moment behind ``now`` that is a whole number of lengths from ``last``."""
        return last + ((now - last) // self.length + 1) * self.length

    def __str__(self) -> str:
        unit, count = next(
            (name, self.length // length) for name, length in _UNITS.values() if not self.length % length
        )
        return f"Every {unit}" if count == 1 else f"Every {count} {unit}s"


@dataclass(frozen=True, slots=True)
class Clock:
    """At the times of a cron expression, by the clocks of a zone.

    A time of day that clocks skip comes right behind the gap, one that they show twice comes once; what comes every
    hour or minute goes on as it does (cron(8) of Debian).
    """

    expression: str
    zone: ZoneInfo

    def next_after(self, now: datetime, last: datetime) -> datetime:
        """The first of its times behind ``now``; ValueError where there is none."""
        del last
        for found in CronSim(self.expression, now.astimezone(self.zone)):
            # While clocks show an hour twice, the first answer may lie in its first showing.
            if (moment := found.astimezone(UTC)) > now:
                return moment
        raise ValueError(f"{self.expression!r} never comes.")

    def __str__(self) -> str:
        return f"{CronSim(self.expression, _ANY_DAY).explain()} ({self.zone.key})"


Recurrence = Interval | Clock


def times(recurrence: Recurrence, first: datetime) -> Iterator[datetime]:
    """``first``, and those that come after it."""
    while True:
        yield first
        first = recurrence.next_after(first, first)


def parse(text: str, zone: str) -> Recurrence:
    """``daily``, ``every 6 hours``, ``30m``, ``0 6 * * MON-FRI``; ValueError says what can be given."""
    clocks = zone_of(zone)
    words = " ".join(text.lower().split())
    if found := _LENGTH.fullmatch(words):
        return _interval(int(found[1]), found[2])
    clock = Clock(WORDS.get(UNITS.get(words, words), words), clocks)
    if len(clock.expression.split()) != FIELDS:
        raise ValueError(f"{text!r} is not a recurring time. {GIVE}")
    try:
        clock.next_after(_ANY_DAY, _ANY_DAY)
    except CronSimError as error:
        raise ValueError(f"{text!r} is not a recurring time: {str(error).lower()}. {GIVE}") from None
    return clock


def _interval(count: int, unit: str) -> Interval:
    if not count:
        raise ValueError("A length of time has to be a minute at least.")
    return Interval(count * _UNITS[unit[0]][1])


def zone_of(name: str) -> ZoneInfo:
    """The time zone of this name; ValueError where there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a time zone: give one such as Europe/Berlin, or UTC.") from None
