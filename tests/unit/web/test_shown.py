"""How guesses and commands are written."""

import pytest

from archivebox.web.templatetags.shown import pace, roughly, with_commands


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.3, "a few seconds"), (2.8, "a few seconds"), (12, "about 20 s"), (50, "about 50 s"), (51, "about 1 min"),
        (638, "about 11 min"), (3_540, "about 59 min"), (3_541, "about 1 h"), (129_600, "about 36 h"),
        (129_601, "about 2 days"), (800_000, "about 10 days"),
    ],
)  # fmt: skip
def test_time_that_is_left_is_told_no_more_exactly_than_it_is_known(seconds: float, words: str) -> None:
    assert roughly(seconds) == words


def test_a_pace_is_told_in_the_period_that_gives_it_a_number() -> None:
    assert [pace(72.4), pace(1), pace(0.4), pace(0.01)] == [
        "72 pages a minute", "1 page a minute", "24 pages an hour", "1 page an hour"
    ]  # fmt: skip


def test_a_command_in_a_sentence_is_code_and_nothing_in_it_is_markup() -> None:
    assert with_commands("Run `archivebox install <x>` & wait.") == (
        "Run <code>archivebox install &lt;x&gt;</code> &amp; wait."
    )
