"""Owns how far what is shown of a page is from the page: other tiles, lost words, missing addresses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from archivebox.plugins.chrome.likeness import packed_alike, read_picture, tiles_alike
from tests.quality.eyes import HEIGHT, WIDTH, View, words_of

MOST_TILES, MOST_WORDS = 1.0, 2.0
"""Percent of tiles that may differ, and of words that may be lost, of what is shown first."""
COMPARED = HEIGHT - 20
"""Pixels from above that are compared, in whole tiles: the application's frame has round corners below."""
LEAST_LETTERS = 3
"""Of a word that is looked for within others: shorter ones are in any text."""


@dataclass
class Score:
    """One way to look at a page, beside the page. None: it has no such thing."""

    tiles: float | None = None
    """Percent of the tiles that are not plain background which look otherwise."""
    words: float | None = None
    """Percent of the words that are lost."""
    missing: int = 0
    violations: int = 0
    acts: dict[str, bool] = field(default_factory=dict)

    def misses(self) -> list[str]:
        """What is beyond the thresholds, each as words."""
        failed = [name for name, worked in self.acts.items() if not worked]
        found = {
            f"{self.tiles or 0:.1f} % of tiles differ": (self.tiles or 0) > MOST_TILES,
            f"{self.words or 0:.1f} % of words are lost": (self.words or 0) > MOST_WORDS,
            f"{self.missing} addresses are missing": self.missing > 0,
            f"{self.violations} acts of scripts were forbidden": self.violations > 0,
            f"failed: {', '.join(failed)}": bool(failed),
        }
        return [sentence for sentence, is_beyond in found.items() if is_beyond]

    def is_worse_than(self, other: Score) -> bool:
        """Whether another shows more of it, by more than the noise of two loads, or does more of what a reader does."""
        by_tiles = (self.tiles or 0) - (other.tiles or 0) > MOST_TILES
        by_words = (self.words or 0) - (other.words or 0) > MOST_WORDS
        by_acts = any(other.acts.get(name) and not worked for name, worked in self.acts.items())
        return by_tiles or by_words or by_acts or self.missing > other.missing


def score_of(live: View, shown: View) -> Score:
    """What is lost from the live page in another view of it."""
    lacking = max(len(shown.missing) - len(live.missing), 0)
    forbidden = max(shown.violations - live.violations, 0)
    return Score(_tiles(live.picture, shown.picture), lost(live.words, shown.words), lacking, forbidden)


def score_of_picture(live: View, path: Path) -> Score:
    """The same of a picture: its upper part, which a window shows."""
    kept, seen = read_picture(str(path)), live.picture
    if kept.size == seen.size:
        return Score(_tiles(packed_alike(str(path), seen), kept))
    whole = Image.new("RGB", (WIDTH, max(kept.height, HEIGHT)), seen.getpixel((0, HEIGHT - 1)))
    whole.paste(seen)
    box = (0, 0, WIDTH, HEIGHT)
    return Score(_tiles(packed_alike(str(path), whole).crop(box), kept.crop(box)))


def _tiles(live: Image.Image, shown: Image.Image) -> float:
    box = (0, 0, WIDTH, COMPARED)
    same, counted = tiles_alike(live.crop(box), shown.crop(box))
    return 100 * (1 - same / counted) if counted else 0.0


def lost(live: Counter[str], shown: Counter[str]) -> float:
    """Percent of the words of one that another has not, each as often."""
    return 100 * (1 - (live & shown).total() / live.total()) if live else 0.0


def lost_on_paper(live: Counter[str], text: str) -> float:
    """The same of a printed text, where words without space between them look like one, and lines break anywhere."""
    joined = "".join(text.casefold().split())
    found = words_of(text)
    for word in live - found:
        if len(word) >= LEAST_LETTERS:
            found[word] = max(found[word], joined.count(word))
    return lost(live, found)
