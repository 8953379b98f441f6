"""Owns what differs between two texts: lines that came and went, and in lines that changed the words that did."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest

MOST_LINES = 4000
"""Lines of each text that are compared: who waits for it waits under a second."""
MOST_PAIRS = 50_000
"""Pairs of equal lines above which those that are in many places are passed over: each pair is looked at often."""
MOST_WORD_PAIRS = 1_000_000
"""Pairs of words that are compared in all lines together; what comes then differs by whole lines."""
CONTEXT = 2
"""Lines beside a difference that are shown."""
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+|\s+|[^\w\s]")
"""A word of scripts that write them together is a letter."""


class DiffKind(StrEnum):
    """What became of a line, or of words in it."""

    SAME = "same"
    GONE = "gone"
    NEW = "new"
    FOLDED = "folded"


@dataclass(frozen=True, slots=True)
class DiffWords:
    """Words of a line that share a fate."""

    sign: DiffKind
    text: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line; of a FOLDED one ``words`` is empty and ``count`` says for how many equal lines it stands."""

    sign: DiffKind
    words: tuple[DiffWords, ...] = ()
    count: int = 1


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs: ``gone`` and ``new`` count lines. ``is_cut``: the texts go on beyond what was compared."""

    lines: tuple[DiffLine, ...]
    gone: int
    new: int
    is_cut: bool

    def __bool__(self) -> bool:
        return bool(self.gone or self.new)


def compare(old: str, new: str) -> Difference:
    """What differs between two texts, empty lines and white space at the ends of lines left out."""
    before, after = _lines(old), _lines(new)
    is_cut = max(len(before), len(after)) > MOST_LINES
    lines = tuple(_differing(before[:MOST_LINES], after[:MOST_LINES]))
    count = {sign: sum(line.sign is sign for line in lines) for sign in DiffKind}
    return Difference(lines, count[DiffKind.GONE], count[DiffKind.NEW], is_cut)


def _lines(text: str) -> list[str]:
    return [line for part in text.splitlines() if (line := part.strip())]


def _differing(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    matcher = SequenceMatcher(None, before, after, autojunk=_equal_pairs(before, after) > MOST_PAIRS)
    budget = _Budget(MOST_WORD_PAIRS)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield from _equal(before[start:end], is_first=start == 0, is_last=end == len(before))
        else:
            yield from _changed(before[start:end], after[new_start:new_end], budget)


def _equal_pairs(before: Sequence[str], after: Sequence[str]) -> int:
    counts = Counter(after)
    return sum(count * counts[line] for line, count in Counter(before).items())


class _Budget:
    """How much of comparing words is left: it takes the square of a line's length."""

    def __init__(self, left: int) -> None:
        self._left = left

    def allows(self, pairs: int) -> bool:
        if pairs > self._left:
            return False
        self._left -= pairs
        return True


def _equal(lines: Sequence[str], *, is_first: bool, is_last: bool) -> Iterator[DiffLine]:
    """The lines beside the differences; what lies between is folded."""
    head, tail = (0 if is_first else CONTEXT), (0 if is_last else CONTEXT)
    folded = len(lines) - head - tail
    if folded <= 1:
        yield from map(_same, lines)
        return
    yield from map(_same, lines[:head])
    yield DiffLine(DiffKind.FOLDED, count=folded)
    yield from map(_same, lines[len(lines) - tail :])


def _same(line: str) -> DiffLine:
    return DiffLine(DiffKind.SAME, (DiffWords(DiffKind.SAME, line),))


def _changed(before: Sequence[str], after: Sequence[str], budget: _Budget) -> Iterator[DiffLine]:
    for old, new in zip_longest(before, after):
        if old is None or new is None:
            sign, text = (DiffKind.NEW, new) if old is None else (DiffKind.GONE, old)
            yield DiffLine(sign, (DiffWords(sign, text or ""),))
        else:
            gone, come = _words(old, new, budget)
            yield DiffLine(DiffKind.GONE, gone)
            yield DiffLine(DiffKind.NEW, come)


def _words(old: str, new: str, budget: _Budget) -> tuple[tuple[DiffWords, ...], tuple[DiffWords, ...]]:
    """The words of two lines that stand for each other."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if not budget.allows(len(before) * len(after)):
        return (DiffWords(DiffKind.GONE, old),), (DiffWords(DiffKind.NEW, new),)
    gone: list[DiffWords] = []
    come: list[DiffWords] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        same = tag == "equal"
        if start < end:
            gone.append(DiffWords(DiffKind.SAME if same else DiffKind.GONE, "".join(before[start:end])))
        if new_start < new_end:
            come.append(DiffWords(DiffKind.SAME if same else DiffKind.NEW, "".join(after[new_start:new_end])))
    return tuple(gone), tuple(come)
