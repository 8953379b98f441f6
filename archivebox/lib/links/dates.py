"""Owns reading the dates that lists of links give, in whichever of the usual ways."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WEBKIT = 11_644_473_600_000_000
"""Microseconds from 1601, from which Chrome counts, to 1970."""
_UNITS = ((253_402_300_799, 1_000_000), (253_402_300_799_999, 1_000), (_WEBKIT, 1))
"""The largest number of seconds, thousandths and millionths since 1970, and microseconds in each.

The last second of the year 9999 for two; millionths end where those since 1601 begin: in the year 2338, or 1970.
"""
_WEBKIT_LATEST = 265_046_774_399_999_999
"""The last microsecond of the year 9999; a larger number counts billionths of a second since 1970."""
_USUAL, _SHORTEST = 10, 9
"""Digits of seconds since 1970: of now, and at least."""
_NUMBER = re.compile(r"(\d{9,19})(?:\.(\d{0,20}))?")
_CALENDAR = re.compile(r"(19|20)\d{12}")
"""``20240102030405``; as thousandths of a second it would be a time after the year 2286."""


def iso(text: str) -> str:
    """A date as ISO 8601 in UTC, to the microsecond; empty for what is none.

    Numbers: seconds since 1970 with or without a fraction, their thousandths, millionths (PRTime) or billionths, or
    microseconds since 1601 (WebKit); which it is shows in their size. Else ISO 8601 or RFC 5322.
    """
    text = text.strip()
    if len(text) == _USUAL and text.isdecimal():
        return datetime.fromtimestamp(int(text), UTC).isoformat()
    try:
        number = _NUMBER.fullmatch(text) if text[:_SHORTEST].isdecimal() else None
        moment = _of_number(number) if number else _of_words(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError, TypeError):
        return ""


def moment_of(text: str) -> datetime | None:
    """The same as a moment; None for what is no date."""
    date = iso(text)
    return datetime.fromisoformat(date) if date else None


def _of_number(number: re.Match[str]) -> datetime:
    if len(number[0]) == 14 and _CALENDAR.fullmatch(number[0]):
        return datetime.strptime(number[0], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    whole, fraction = int(number[1]), number[2] or ""
    for largest, unit in _UNITS:
        if whole <= largest:
            part = int((fraction + "000000")[:6]) * unit // 1_000_000
            return _EPOCH + timedelta(microseconds=whole * unit + part)
    since = whole - _WEBKIT if whole <= _WEBKIT_LATEST else whole // 1_000
    return _EPOCH + timedelta(microseconds=since)


def _of_words(text: str) -> datetime:
    if not text[:4].isdigit():
        return parsedate_to_datetime(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # "2024-01-02 03:04:05 UTC", "2024/01/02 03:04:05 +0100"
        plain = re.sub(r" ?(UTC|GMT)$", "+00:00", text.replace("/", "-"))
        return datetime.fromisoformat(re.sub(r" (?=[+-]\d\d:?\d\d$)", "", plain))
