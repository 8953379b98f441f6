"""Which of several texts is the article of a page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from archivebox.plugins.base.html_text import letters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from archivebox.plugins.base.html_text import TextBlock

PARAGRAPH = 60  # letters; what is shorter is a label, a caption or a byline more often than a part of the article
AROUND = 0.1  # of the letters: with more of them in links it is what stands around an article, 0.02 are usual inside;
DENSER = 2  # but it has to be denser than what the texts agree on: an encyclopedia has 0.2 inside as well
MOST = 0.5  # of what the texts agree on: a part of the page that has more of it is the article's, whatever it is called
MAX_BLOCKS = 2_000  # of a page; each is looked for in each text, which costs a second for a book of a page


class PageOpening:
    """The first blocks of a page, as their letters alone: libraries lay out white space each in its own way.

    `comments`: the letters of each part of the page in which readers write.
    """

    def __init__(self, blocks: Sequence[TextBlock], comments: Sequence[str] = ()) -> None:
        self._texts = [letters(block.text) for block in blocks[:MAX_BLOCKS]]
        self._linked = [len(letters(block.linked)) for block in blocks[:MAX_BLOCKS]]
        self._count = Counter(self._texts)
        self._comments = comments

    def blocks_in(self, text: str) -> set[int]:
        """The numbers of the blocks that a text has."""
        whole = letters(text)
        return {number for number, block in enumerate(self._texts) if block in whole}

    def size(self, blocks: set[int]) -> int:
        """Their letters."""
        return sum(len(self._texts[number]) for number in blocks)

    def has_paragraph(self, blocks: set[int]) -> bool:
        """Whether one of them is longer than labels and captions are."""
        return any(len(self._texts[number]) >= PARAGRAPH for number in blocks)

    def link_density(self, blocks: set[int]) -> float:
        """The share of their letters that are in links."""
        return sum(self._linked[number] for number in blocks) / max(1, self.size(blocks))

    def with_neighbours(self, blocks: set[int]) -> set[int]:
        """These blocks and those beside them: a teaser is a link above plain text."""
        near = {other for number in blocks for other in (number - 1, number, number + 1)}
        return near & set(range(len(self._texts)))

    def worth(self, blocks: set[int], agreed: set[int]) -> int:
        """The letters of those blocks that read as parts of an article, less the letters of the others.

        `agreed`: the blocks that both texts have. A part of an article is a paragraph that is there once, has few links
        in it and beside it, and is no reader's comment.
        """
        around = max(AROUND, DENSER * self.link_density(agreed))
        comments = self._comments_outside(agreed)
        return sum(
            self.size({number}) if self._is_part(number, around, comments) else -self.size({number})
            for number in blocks
        )

    def _is_part(self, number: int, around: float, comments: Sequence[str]) -> bool:
        text = self._texts[number]
        if len(text) < PARAGRAPH or self._count[text] > 1:
            return False
        if self.link_density(self.with_neighbours({number})) >= around:
            return False
        return not any(text in comment for comment in comments)

    def _comments_outside(self, agreed: set[int]) -> list[str]:
        """Those parts that are not the article itself, as a thread may be."""
        least = MOST * self.size(agreed)
        return [
            part for part in self._comments if self.size({one for one in agreed if self._texts[one] in part}) < least
        ]


def choose(page: PageOpening, texts: Mapping[str, str]) -> str:
    """The name of the best text; `texts` are in the order in which they are trusted.

    Where none has a paragraph, the page is one of short lines, which would all count as what stands around an article:
    then the text that has most of it is the best one.
    """
    blocks = {name: page.blocks_in(text) for name, text in texts.items()}
    if not any(map(page.has_paragraph, blocks.values())):
        return max(blocks, key=lambda name: page.size(blocks[name]))
    best, *others = blocks
    for other in others:
        if is_better(page, blocks[other], blocks[best]):
            best = other
    return best


def is_better(page: PageOpening, other: set[int], best: set[int]) -> bool:
    """Whether what one text has beyond the best so far is worth more than what that has beyond it."""
    agreed = other & best
    return bool(other) and page.worth(other - best, agreed) > page.worth(best - other, agreed)
