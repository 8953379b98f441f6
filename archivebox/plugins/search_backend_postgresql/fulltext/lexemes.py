"""Which words a text has for PostgreSQL: those that FTS5's `unicode61 remove_diacritics 2` finds in it."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict

from archivebox.plugins.base.segments import segmented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PART = 4_000  # words of one row: so few that hardly a word comes 256 times, of which PostgreSQL keeps no more
OVERLAP = 64  # words of a row that the next one begins with: a phrase so long is found wherever it stands
LONGEST = 240  # bytes of a word that count: 4,000 of them stay below the megabyte of a tsvector
_WORDS = re.compile(r"[^\W_]+")
_LATIN = range(0xC0, 0x1F00)
_MARKS = range(0x300, 0x332)


def _bases() -> dict[int, str | None]:
    """Letter with a mark → the plain letter. Only Latin letters lose their marks, as in FTS5."""
    bases: dict[int, str | None] = dict.fromkeys(_MARKS)
    for code in _LATIN:
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base.isascii():
            bases[code] = base
    return bases


_BASES = _bases()


def words_of(text: str) -> list[str]:
    """Return the words of a text in order: lower case, without marks."""
    if not text.isascii():
        text = segmented(text).translate(_BASES)
    return [word if len(word) < LONGEST // 4 else _cut(word) for word in _WORDS.findall(text.lower())]


def parts_of(words: Sequence[str]) -> Iterator[str]:
    """Yield the words as texts that PostgreSQL reads as tsvectors: one, or of a long text several."""
    for start in range(0, max(1, len(words) - OVERLAP), PART - OVERLAP):
        yield _tsvector(words[start : start + PART])


def phrase(word: str) -> str:
    """Return a word or phrase of a question as a tsquery; '' where nothing of it is a word."""
    found = " <-> ".join(f"'{one}'" for one in words_of(word))
    return f"({found}{':*' if word.endswith('*') else ''})" if found else ""


def _tsvector(words: Sequence[str]) -> str:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for place, word in enumerate(words, 1):
        places[word].append(str(place))
    return " ".join(f"'{word}':{','.join(at)}" for word, at in places.items())


def _cut(word: str) -> str:
    return word.encode()[:LONGEST].decode("utf-8", "ignore")
