"""What of a page its replay shows: tiles of its picture, and words that can be seen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from PIL import Image, ImageDraw

from archivebox.plugins.base.visible_words import visible_words, words_found
from archivebox.plugins.chrome.likeness import tiles_alike

WHITE, GREY = "#ffffff", "#eeeeee"


def page(*boxes: tuple[int, int, int, int], colour: str = WHITE) -> Image.Image:
    """A page of 10 by 10 tiles with black boxes."""
    picture = Image.new("RGB", (160, 160), colour)
    for box in boxes:
        ImageDraw.Draw(picture).rectangle(box, "black")
    return picture


TEXT = (20, 20, 26, 26)
"""Within one tile."""


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        pytest.param(page(TEXT), (1, 1), id="the same: what is plain in both is not counted"),
        pytest.param(page(), (0, 1), id="blank"),
        pytest.param(page((20, 20, 26, 20)), (0, 1), id="another"),
        pytest.param(page(TEXT, (100, 100, 104, 104)), (1, 2), id="more than there was"),
        pytest.param(page(TEXT, colour="#404040"), (0, 100), id="another background"),
        pytest.param(page(TEXT, colour="#f8f8f8"), (1, 1), id="a background that is hardly another"),
        pytest.param(page((20, 20, 26, 25)), (1, 1), id="an edge that is drawn otherwise"),
    ],
)
def test_tiles_that_are_not_plain_background_are_compared(shown: Image.Image, expected: tuple[int, int]) -> None:
    assert tiles_alike(page(TEXT), shown) == expected


def test_of_two_blank_pages_there_is_nothing_to_compare() -> None:
    assert tiles_alike(page(), page()) == (0, 0)


def test_pictures_whose_sides_are_no_multiple_of_a_tile_are_compared_to_their_edges() -> None:
    kept = Image.new("RGB", (170, 20), GREY)
    shown = kept.copy()
    shown.paste("black", (165, 0, 170, 20))
    same, counted = tiles_alike(kept, shown)
    assert same == 0
    assert counted == 2


def snapshot(*nodes: tuple[int, str | None, str, str]) -> dict[str, Any]:
    """An answer of the browser: of each node its parent, its text, its opacity and its visibility."""
    strings: list[str] = []

    def known(text: str) -> int:
        strings.append(text)
        return len(strings) - 1

    laid_out = [
        (number, [known(opacity), known(visibility)], -1 if text is None else known(text))
        for number, (_, text, opacity, visibility) in enumerate(nodes)
    ]
    numbers, styles, texts = (list(column) for column in zip(*laid_out, strict=True))
    layout = {"nodeIndex": numbers, "styles": styles, "text": texts}
    return {"strings": strings, "documents": [{"nodes": {"parentIndex": [one[0] for one in nodes]}, "layout": layout}]}


def test_words_are_those_that_can_be_seen() -> None:
    seen = visible_words(
        snapshot(
            (-1, None, "1", "visible"),
            (0, None, "0", "visible"),
            (1, None, "1", "visible"),
            (2, "Never faded in", "1", "visible"),
            (0, "Never shown", "1", "hidden"),
            (0, "Pears, and PEARS: 3", "0.5", "visible"),
        )
    )
    assert seen == Counter({"pears": 2, "and": 1, "3": 1})
    assert words_found(Counter(pears=3, plums=1), seen) == (2, 4)
