"""What comes again comes at the right moment: by the clocks of its zone, also when these are changed."""

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from archivebox.crawls.recurrence import Interval, parse, times

BERLIN = "Europe/Berlin"
"""Clocks go from 02:00 to 03:00 on 2026-03-29, and from 03:00 back to 02:00 on 2026-10-25, both at 01:00 UTC."""


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def after(text: str, zone: str, start: str, count: int = 3) -> list[str]:
    recurrence = parse(text, zone)
    first = recurrence.next_after(moment(start), moment(start))
    return [f"{one:%m-%d %H:%M}" for one in islice(times(recurrence, first), count)]


def test_a_time_of_day_is_that_of_its_zone_before_and_after_clocks_are_changed() -> None:
    assert after("0 6 * * *", BERLIN, "2026-03-27T12:00") == ["03-28 05:00", "03-29 04:00", "03-30 04:00"]
    assert after("0 6 * * *", BERLIN, "2026-10-23T12:00") == ["10-24 04:00", "10-25 05:00", "10-26 05:00"]


def test_a_time_that_clocks_skip_comes_right_behind_the_gap() -> None:
    assert after("30 2 * * *", BERLIN, "2026-03-28T12:00", 2) == ["03-29 01:00", "03-30 00:30"]


@pytest.mark.parametrize("minute", range(0, 60, 10))
def test_a_time_that_clocks_show_twice_comes_once_from_wherever_one_looks(minute: int) -> None:
    assert after("30 2 * * *", BERLIN, "2026-10-24T12:00", 2) == ["10-25 00:30", "10-26 01:30"]
    assert after("30 2 * * *", BERLIN, f"2026-10-25T01:{minute:02}", 1) == ["10-26 01:30"]


def test_what_comes_every_hour_goes_on_through_the_change() -> None:
    hours = [f"10-25 {hour:02}:00" for hour in range(4)]
    assert after("hourly", BERLIN, "2026-10-24T23:30", 4) == hours
    assert after("hourly", BERLIN, "2026-03-28T23:30", 4) == [hour.replace("10-25", "03-29") for hour in hours]


def test_an_interval_keeps_its_beat_however_late_one_looks() -> None:
    every = parse("every 6 hours", BERLIN)
    start = moment("2026-10-24T23:00")
    assert every.next_after(start, start) == start + timedelta(hours=6)
    assert every.next_after(start + timedelta(hours=6), start + timedelta(hours=6)) == start + timedelta(hours=12)
    assert every.next_after(start + timedelta(hours=31), start) == start + timedelta(hours=36)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("6h", "Every 6 hours"),
        ("every 60 minutes", "Every hour"),
        ("2 weeks", "Every 2 weeks"),
        ("Daily", "At 00:00 every day (Europe/Berlin)"),
        ("0 6 * * mon-fri", "At 06:00 on Monday through Friday (Europe/Berlin)"),
    ],
)
def test_it_says_in_words_when_it_comes(text: str, says: str) -> None:
    assert str(parse(text, BERLIN)) == says


@pytest.mark.parametrize(
    "text", ["", "soon", "0m", "* * * * * *", "61 * * * *", "0 0 30 2 *", "0 0 31 4,6 *", "@daily", "\0", "6h 30m"]
)
def test_what_never_comes_or_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|length"):
        parse(text, "UTC")


@pytest.mark.parametrize("zone", ["", "Mars", "Europe", "../../etc/passwd", "/etc/localtime", "\0"])
def test_a_zone_that_is_none_is_refused_also_of_an_interval(zone: str) -> None:
    for text in ("daily", "day", "6h"):
        with pytest.raises(ValueError, match="not a time zone"):
            parse(text, zone)


def test_the_longest_interval_has_a_next_time() -> None:
    longest = parse("9999 weeks", "UTC")
    assert isinstance(longest, Interval)
    assert longest.next_after(moment("2026-01-01"), moment("2026-01-01")).year == 2217
