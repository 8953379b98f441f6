"""The piece of a text that answers a question."""

from pathlib import Path

import pytest

from archivebox.search.finding import AROUND, excerpt, excerpt_of


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("Ripe\n\n  PEARS.", ["pears"], "Ripe PEARS."),
        ("a" * 500 + " pear " + "b" * 500, ["pear"], f"…{'a' * (AROUND - 1)} pear {'b' * (AROUND - 1)}…"),
        ("Über den Café", ["cafe"], "Über den Café"),
        (f"{'é' * 100} one.\nTwo", ["one two"], f"…{'é' * (AROUND - 1)} one. Two"),
        ("nothing of it", ["[("], "nothing of it"),
        (f"{'é' * 100} Café-Bar", ["cafe bar"], f"…{'é' * (AROUND - 1)} Café-Bar"),
        (f"a{'-' * 5000}c", ["a - - - b"], f"a{'-' * (AROUND - 1)}…"),
        (f"{'x' * 200}東京都", ["東京"], f"…{'x' * AROUND}東京都"),
    ],
)
def test_an_excerpt_shows_the_first_word(text: str, words: list[str], shown: str) -> None:
    assert excerpt(text, words) == shown


def test_of_a_file_that_is_gone_nothing_is_shown(tmp_path: Path) -> None:
    assert excerpt_of(tmp_path / "gone.txt", ["x"]) == ""
