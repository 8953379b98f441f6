"""A term goes into a query and out of it again, and leaves the rest as it was typed."""

import pytest

from archivebox.web.views.library import has, terms, toggled


def test_a_quoted_part_is_one_term() -> None:
    assert terms('pears #"two words" title:"a b" -x') == ["pears", '#"two words"', 'title:"a b"', "-x"]
    assert terms("not #a (b or not (c d)) wiki/Pear_(fruit)") == ["not #a", "(b or not (c d))", "wiki/Pear_(fruit)"]


@pytest.mark.parametrize("text", ["not #python", "-#python", "#python or x", "(#python or x)", "not (#python x)"])
def test_a_term_that_need_not_hold_is_not_chosen(text: str) -> None:
    assert not has(text, "#python")
    assert has(toggled(text, "#python"), "#python")
    assert has("x and #python", "#python")


def test_a_choice_takes_the_place_of_its_opposite() -> None:
    assert toggled("not #python x", "#python") == "x #python"
    assert toggled("x -#python", "#python") == "x #python"
    assert toggled("x and #python", "#python") == "x"


@pytest.mark.parametrize(
    ("text", "wanted", "keys", "after"),
    [
        ("", "is:failed", ("is:",), "is:failed"),
        ("pears is:open", "is:failed", ("is:",), "pears is:failed"),
        ("pears is:failed", "is:failed", ("is:",), "pears"),
        ("#a", '#"b c"', (), '#a #"b c"'),
        ("after:2025 before:2026 x", "after:2024 before:2025", ("after:", "before:"), "x after:2024 before:2025"),
        ("a or b", "host:c.example", ("host:",), "(a or b) host:c.example"),
    ],
)
def test_a_choice_takes_the_place_of_its_like(text: str, wanted: str, keys: tuple[str, ...], after: str) -> None:
    assert toggled(text, wanted, keys) == after
    assert has(after, wanted) is (after != "pears")
