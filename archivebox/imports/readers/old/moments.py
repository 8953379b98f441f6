"""Owns reading the dates of earlier ArchiveBoxes, to the microsecond."""

import re
from datetime import UTC, datetime, timedelta

_SECONDS = re.compile(r"(\d{1,12})(?:\.(\d{1,32}))?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(value: object) -> datetime | None:
    """A date of a database or an index.json, in UTC where it names no zone; None for what is none."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        return of_timestamp(value)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def of_timestamp(text: str) -> datetime | None:
    """Seconds since 1970 with their fraction, as they name the folder of a page; no float, which would lose digits."""
    found = _SECONDS.fullmatch(text.strip())
    if found is None:
        return None
    try:
        return _EPOCH + timedelta(seconds=int(found[1]), microseconds=int((found[2] or "0").ljust(6, "0")[:6]))
    except OverflowError:
        return None


def closest_moment(date: object, timestamp: str) -> datetime | None:
    """When a page was added: 0.9 has cut the fractions off the dates of earlier versions, and left the timestamps."""
    written, stamped = moment(date), of_timestamp(timestamp)
    if written is None or stamped is None:
        return written or stamped
    return stamped if abs(written - stamped) < timedelta(seconds=1) else written
