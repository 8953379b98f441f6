"""Which of several texts is the article of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from archivebox.plugins.base.html_text import Block

SUBSTANTIAL = 0.1  # of a text; two libraries differ by a caption or a byline nearly always
AROUND = 0.1  # of the letters: with more of them in links it is what stands around an article, 0.02 are usual inside;
DENSER = 2  # but it has to be denser than what the texts agree on: an encyclopedia has 0.2 inside as well
MAX_BLOCKS = 2_000  # of a page; each is looked for in each text, which costs a second for a book of a page
_NO_LETTERS = re.compile(r"\W+")


class Page:
    """The first blocks of a page, as their letters alone: libraries lay out white space each in its own way."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._texts = [letters(block.text) for block in blocks[:MAX_BLOCKS]]
        self._linked = [len(letters(block.linked)) for block in blocks[:MAX_BLOCKS]]

    def blocks_in(self, text: str) -> set[int]:
        """The numbers of the blocks that a text has."""
        whole = letters(text)
        return {number for number, block in enumerate(self._texts) if block in whole}

    def size(self, blocks: set[int]) -> int:
        """Their letters."""
        return sum(len(self._texts[number]) for number in blocks)

    def link_density(self, blocks: set[int]) -> float:
        """The share of their letters that are in links."""
        return sum(self._linked[number] for number in blocks) / max(1, self.size(blocks))

    def with_neighbours(self, blocks: set[int]) -> set[int]:
        """These blocks and those beside them: a teaser is a link above plain text."""
        near = {other for number in blocks for other in (number - 1, number, number + 1)}
        return near & set(range(len(self._texts)))


def choose(page: Page, texts: Mapping[str, str]) -> str:
    """The name of the best text; `texts` are in the order in which they are trusted."""
    blocks = {name: page.blocks_in(text) for name, text in texts.items()}
    best, *others = blocks
    for other in others:
        if is_better(page, blocks[other], blocks[best]):
            best = other
    return best


def is_better(page: Page, other: set[int], best: set[int]) -> bool:
    """Whether a text has what belongs to the article and the best one so far has not, or leaves out what does not."""
    gained, lost = other - best, best - other
    least = SUBSTANTIAL * page.size(best)
    around = max(AROUND, DENSER * page.link_density(other & best))
    if page.size(gained) > page.size(lost):
        return page.size(gained) > least and page.link_density(page.with_neighbours(gained)) < around
    return bool(other) and page.size(lost) > least and page.link_density(page.with_neighbours(lost)) >= around


def letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.lower())
