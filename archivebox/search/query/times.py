"""Owns moments and lengths of time as people type them."""

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.utils import timezone

_AGE = re.compile(r"(\d{1,6})\s*([smhdwy])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}
_DAYS_AGO = {"today": 0, "yesterday": 1}


def age(text: str) -> timedelta:
    """``30d``, ``12h``, ``2w``; ValueError for anything else."""
    found = _AGE.fullmatch(text.strip().lower())
    if not found:
        raise ValueError(f"{text!r} is not a length of time: give a number and one of s, m, h, d, w, y, such as 30d.")
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


def moment(text: str) -> datetime:
    """The beginning of a day, month or year, or a time (ISO 8601, UTC unless it says otherwise); or an age before now.

    ``2026-05-31``, ``2026-05``, ``2026``, ``today``, ``yesterday``, ``30d``; ValueError for anything else.
    """
    word = text.strip().lower()
    if _AGE.fullmatch(word):
        return timezone.now() - age(word)
    if word in _DAYS_AGO:
        return timezone.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=_DAYS_AGO[word])
    whole = word + "0001-01-01"[len(word) :] if re.fullmatch(r"\d{4}(-\d{2})?", word) else text.strip()
    try:
        when = datetime.fromisoformat(whole)
    except ValueError:
        raise ValueError(f"{text!r} is not a time: give a date such as 2026-01-31, or an age such as 30d.") from None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def floor_of(when: datetime) -> UUID:
    """The least key that a row made at ``when`` can have (UUIDv7: milliseconds first)."""
    return UUID(int=max(0, int(when.timestamp() * 1000)) << 80)
