"""What a list shows of a page that it has no picture of."""

import pytest

from archivebox.core.snapshot import Snapshot
from archivebox.web.page.cards import Card


@pytest.mark.parametrize(
    ("url", "initial"),
    [
        ("https://www.example.org/a", "E"),
        ("http://example.org:8000/", "E"),
        ("http://user@nine.example/", "N"),
        ("http://127.0.0.1:8000/", ""),
        ("http://[::1]/", ""),
        ("https://9front.org/", "9"),
    ],
)
def test_a_letter_stands_for_a_name_and_none_for_a_number(url: str, initial: str) -> None:
    assert Card(Snapshot(url=url), "", "", "", "").initial == initial
