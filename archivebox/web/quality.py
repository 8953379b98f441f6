"""Owns how well the replay of a page is said to have it: a word, a number, and what is missing.

What was measured stands in the results of hooks (``measures``, docs/plugin-contract.md); it is a stranger's, and read
with care.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from archivebox.core.archiveresult import ArchiveResult
from archivebox.lib.jsonl import JSON

BAD = 80
"""Percent below which lists mark a page."""
_WORDS = ((100, "whole", "good"), (BAD, "nearly whole", "good"), (50, "in part", "wait"), (0, "poor", "bad"))
"""From so many percent: a word, and the colour beside it."""
MOST = 20
"""Measures of one plugin, and missing files of one measure, that are shown."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One comparison. ``percent``: None where it was not made, or could not be."""

    name: str
    percent: int | None
    sentence: str
    missing: tuple[tuple[str, str], ...] = ()
    """Addresses, each with why it is missing."""
    more: int = 0
    """How many are missing beside these."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What the measures of a page come to: the worst of them."""

    percent: int
    measures: tuple[Measure, ...]

    @property
    def word(self) -> str:
        return _at(self.percent)[0]

    @property
    def kind(self) -> str:
        """Its colour, as :func:`archivebox.web.templatetags.shown.kind` has them."""
        return _at(self.percent)[1]

    @property
    def may_be_better(self) -> bool:
        """Whether to capture the page again may help: what was not had may be had another time."""
        return any(one.missing for one in self.measures)


def _at(percent: int) -> tuple[str, str]:
    return next((word, kind) for least, word, kind in _WORDS if percent >= least)


def quality_of(percent: int | None, results: Iterable[ArchiveResult]) -> Quality | None:
    """The quality of a page with these results; None where nothing was measured."""
    if percent is None:
        return None
    said = (one.output_json.get("measures") for one in results if isinstance(one.output_json, dict))
    entries = (entry for one in said if isinstance(one, list) for entry in one[:MOST])
    return Quality(percent, tuple(_measure(entry) for entry in entries if isinstance(entry, dict)))


def _measure(said: dict[str, JSON]) -> Measure:
    percent, count = said.get("percent"), said.get("missing_count")
    missing = tuple(_pairs(said.get("missing")))
    return Measure(
        str(said.get("name", "")),
        percent if isinstance(percent, int) else None,
        str(said.get("sentence", "")),
        missing,
        max(count - len(missing), 0) if isinstance(count, int) else 0,
    )


def _pairs(said: JSON) -> Iterator[tuple[str, str]]:
    for pair in said[:MOST] if isinstance(said, list) else []:
        if isinstance(pair, list) and len(pair) == 2:
            yield str(pair[0]), str(pair[1])
