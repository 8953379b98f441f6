"""Owns reading the dates that lists of links give, in whichever of the usual ways."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LATEST = 253_402_300_799
"""The last second of the year 9999; a larger number counts thousandths or millionths."""


def iso(text: str) -> str:
    """A date as ISO 8601 in UTC: from seconds since 1970 (or their thousandths, millionths), ISO, or RFC 5322.

    Empty for what is none of these.
    """
    text = text.strip()
    try:
        moment = _of_number(int(text)) if re.fullmatch(r"\d{9,17}", text) else _of_words(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError, TypeError):
        return ""


def moment_of(text: str) -> datetime | None:
    """The same as a moment; None for what is no date."""
    date = iso(text)
    return datetime.fromisoformat(date) if date else None


def _of_number(number: int) -> datetime:
    while number > _LATEST:
        number //= 1_000
    return datetime.fromtimestamp(number, UTC)


def _of_words(text: str) -> datetime:
    return datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)
