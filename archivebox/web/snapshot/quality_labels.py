"""Owns how well the replay of a page is said to show it: a word, a number, what is missing, and why it is poor.

What hooks have estimated stands in their results (``measures``, docs/plugin-contract.md); it is a stranger's, and read
with care.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.outputs.replay_quality import ESTIMATE, LEAST_FIRST, LEAST_GOOD, estimate_of, measures_of
from archivebox.core.snapshot import Snapshot
from archivebox.lib.jsonl import JSON

_WORDS = ((100, "whole", "good"), (LEAST_GOOD, "nearly whole", "good"), (50, "in part", "wait"), (0, "poor", "bad"))
"""From so many percent: a word, and the colour beside it."""
MOST = 20
"""Measures of one plugin, and missing files of one measure, that are shown."""
_ESTIMATES = frozenset({ESTIMATE, "article"})
"""Measures that say nothing more once the replay was measured."""


@dataclass(frozen=True, slots=True)
class QualityMeasure:
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
    """What is known of the replay of a page. ``percent``, ``with_scripts``: None where it was not measured."""

    percent: int | None
    with_scripts: int | None
    estimate: int | None
    """Percent of its words that the page had as it was sent; None: not known."""
    is_built_by_scripts: bool
    measures: tuple[QualityMeasure, ...]

    @property
    def word(self) -> str:
        return "not measured" if self.percent is None else _at(self.percent)[0]

    @property
    def kind(self) -> str:
        """Its colour, as :func:`archivebox.web.templatetags.shown.kind` has them."""
        return "" if self.percent is None else _at(self.percent)[1]

    @property
    def may_be_better(self) -> bool:
        """Whether to capture the page again may help: what was not had may be had another time."""
        return any(one.missing for one in self.measures)

    @property
    def why_poor(self) -> str:
        """Why another format opens first, as a sentence: as measured, else by the estimate. Empty: the replay does."""
        if self.percent is not None:
            sentence = f"Without its scripts, the replay shows {self.percent} % of this page."
            return sentence if self.percent < LEAST_FIRST else ""
        if self.estimate is not None and self.estimate < LEAST_GOOD:
            return f"This page is built by scripts: {self.estimate} % of its words were in what the server sent."
        return "This page is built by scripts." if self.is_built_by_scripts else ""

    @property
    def of_scripts(self) -> str:
        """What is known of the replay with scripts, as a sentence."""
        if self.with_scripts is None:
            return "The replay with scripts was not measured."
        return f"With its recorded scripts, the replay shows {self.with_scripts} %."


def _at(percent: int) -> tuple[str, str]:
    return next((word, kind) for least, word, kind in _WORDS if percent >= least)


def quality_of(snapshot: Snapshot, results: Iterable[ArchiveResult]) -> Quality:
    """What is known of the replay of a page with these results."""
    said = [one.output_json for one in results if isinstance(one.output_json, dict)]
    estimates = [entry for one in said for entry in measures_of(one)[:MOST]]
    measured = [one for one in snapshot.measures or [] if isinstance(one, dict)]
    entries = [*measured, *(one for one in estimates if not measured or one.get("name") not in _ESTIMATES)]
    return Quality(
        snapshot.quality,
        snapshot.quality_with_scripts,
        estimate_of(estimates),
        any(one.get("built_by_scripts") is True for one in said),
        tuple(map(_measure, entries)),
    )


def _measure(said: dict[str, JSON]) -> QualityMeasure:
    percent, count = said.get("percent"), said.get("missing_count")
    missing = tuple(_pairs(said.get("missing")))
    return QualityMeasure(
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
