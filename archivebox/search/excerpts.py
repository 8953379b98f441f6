"""Owns the piece of a text that shows why it was found."""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

LOOKED_AT = 4_000_000
"""Bytes of a file in which the words are looked for again."""
AROUND = 80
"""Characters shown on each side of the first word."""


def excerpt_of(path: Path, words: Sequence[str], most: int = LOOKED_AT) -> str:
    """The surroundings of the first of ``words`` in a file, on one line; its beginning where none is seen again.

    ``most``: bytes of it that are read. Empty where the file is not there any more.
    """
    try:
        with path.open("rb") as file:
            return excerpt(file.read(most).decode("utf-8", "replace"), words)
    except OSError:
        return ""


def excerpt(text: str, words: Sequence[str]) -> str:
    """The same of a text in memory."""
    start, end = _place(text, words)
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    before, after = "…" if first else "", "…" if last < len(text) else ""
    return before + " ".join(text[first:last].split()) + after


def spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where the words stand in a short text: from which character to which, in order."""
    plain = _pattern([_plain(word) for word in words])
    found = re.finditer(_pattern(words), text, re.IGNORECASE), re.finditer(plain, _plain(text))
    taken: list[tuple[int, int]] = []
    for start, end in sorted({one.span() for matches in found for one in matches}):
        if start < end and (not taken or start >= taken[-1][1]):
            taken.append((start, end))
    return taken


def _place(text: str, words: Sequence[str]) -> tuple[int, int]:
    """Where the first word stands: as it is written, else without its marks (``cafe`` for ``café``)."""
    plain = [_plain(word) for word in words]
    found = re.search(_pattern(words), text, re.IGNORECASE) or re.search(_pattern(plain), _plain(text))
    return found.span() if found else (0, 0)


def _pattern(words: Sequence[str]) -> str:
    """Any of the words; what parts the words of a phrase may be any white space or sign.

    Signs of the phrase itself are left out: where they had to be found among those of a page, a long row of dashes
    would be divided in all possible ways.
    """
    phrases = (r"\W+".join(re.findall(r"\w+", word)) for word in words)
    return "|".join(filter(None, phrases)) or "$."


def _plain(text: str) -> str:
    """Lower case, without diacritics, and as many characters as before."""
    if text.isascii():
        return text.lower()
    return "".join(unicodedata.normalize("NFD", char)[0].lower()[0] for char in text)
