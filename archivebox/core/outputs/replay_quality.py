"""Owns how much of a page its replay shows: what was counted becomes a score, and stands in the page's row."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.utils import timezone

from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.lib.jsonl import JSON

LEAST_GOOD = 80
"""Percent below which a replay is said to be poor, and its page may be worth capturing again."""
ESTIMATE, RESOURCES = "text", "resources"
"""Measures that a hook makes at the capture: words of the sent page among those of the saved one, and files kept."""


class Count(NamedTuple):
    """How many of something are there, and of how many."""

    found: int
    wanted: int

    @property
    def percent(self) -> int:
        """Rounded down: 100 means all."""
        return 100 * self.found // self.wanted


@dataclass(frozen=True, slots=True)
class Score:
    """What was counted of the replay of one page, or of a saved copy. ``problem``: why nothing could be.

    ``is_covered``: a window was closed before the picture was taken, which may lie over the page here: its tiles say
    nothing of how whole it is.
    """

    words: Count | None = None
    tiles: Count | None = None
    problem: str = ""
    is_covered: bool = False
    scripted: "Score | None" = None
    """The same of its replay with scripts; None where nothing lacks without them."""
    copies: Mapping[str, "Score"] = field(default_factory=dict)
    """The same of its saved copies, by the key of their format."""

    @property
    def percent(self) -> int | None:
        """The lower one; None where nothing was counted."""
        counts = (self.words, None if self.is_covered else self.tiles)
        return min((count.percent for count in counts if count is not None), default=None)

    def measures(self) -> list[dict[str, JSON]]:
        """The same as people read it; ``format``: of what, see :func:`percents_of`."""
        if self.problem:
            return [{"name": "replay", "percent": None, "sentence": self.problem}]
        measures = [*_measures_of(self, "replay", "", "The replay")]
        if self.scripted is not None:
            measures += _measures_of(self.scripted, "scripts", " with scripts", "The replay")
        for key, copy in self.copies.items():
            measures += _measures_of(copy, key, f" of {key}", "The saved copy")
        return measures


def _measures_of(score: Score, key: str, of: str, what: str) -> Iterator[dict[str, JSON]]:
    tiles = _tiles(score.tiles, what) + (_COVERED if score.is_covered and score.tiles is not None else "")
    for name, count, sentence in (("words", score.words, _words(score.words, what)), ("picture", score.tiles, tiles)):
        percent = None if count is None else count.percent
        yield {"name": name + of, "format": key, "percent": percent, "sentence": sentence}


_COVERED = " A window that was closed before the picture was taken may cover it."


def _words(count: Count | None, what: str) -> str:
    if count is None:
        return "Not measured: the page showed no words, or they were not kept."
    if count.found == count.wanted:
        return f"{what} shows all {count.wanted:,} words of the page."
    return f"{what} shows {count.found:,} of the {count.wanted:,} words of the page."


def _tiles(count: Count | None, what: str) -> str:
    if count is None:
        return "Not measured: no picture was kept, or there is nothing but background in it."
    if count.found == count.wanted:
        return f"{what} looks like the picture that was kept."
    share = f"{count.found:,} of the {count.wanted:,} tiles"
    return f"{share} of the picture that are not background look the same in {what[0].lower()}{what[1:]}."


def percents_of(snapshot: Snapshot) -> dict[str, int]:
    """The lowest that was measured of each format, by its key: ``replay``, ``scripts`` (with them), a saved copy's."""
    percents: dict[str, int] = {}
    for one in filter(None, snapshot.measures or []):
        if isinstance(percent := one.get("percent"), int) and isinstance(key := one.get("format"), str):
            percents[key] = min(percent, percents.get(key, percent))
    for key, whole in (("replay", snapshot.quality), ("scripts", snapshot.quality_with_scripts)):
        if whole is not None:
            percents.setdefault(key, whole)
    return percents


def record_score(snapshot_id: UUID, sealed_at: datetime | None, score: Score) -> bool:
    """Write down what was measured of a page as it was sealed then; False where something has changed since.

    In the transaction of whoever measured it.
    """
    percent, with_scripts = score.percent, None if score.scripted is None else score.scripted.percent
    rows = Snapshot.objects.filter(pk=snapshot_id, status=Snapshot.StatusChoices.SEALED, sealed_at=sealed_at)
    columns = {
        "quality": percent,
        "quality_with_scripts": with_scripts,
        "measures": score.measures(),
        "is_lossy": is_lossy(snapshot_id, percent, with_scripts) or None,
        "measured_at": timezone.now(),
    }
    return bool(rows.update(**columns))


def is_lossy(snapshot_id: UUID, percent: int | None, with_scripts: int | None = None) -> bool:
    """Whether a page is worth capturing again: files of it may be had another time, or its replay is poor, also with
    scripts, or where they were not tried though none of them built the page.
    """
    result = ArchiveResult.objects.filter(snapshot_id=snapshot_id, plugin="quality", status="succeeded").first()
    measures = measures_of(None if result is None else result.output_json)
    if any(measure.get("missing_count") for measure in measures):
        return True
    if percent is None or max(percent, with_scripts or 0) >= LEAST_GOOD:
        return False
    estimate = estimate_of(measures)
    return with_scripts is not None or estimate is None or estimate >= LEAST_GOOD


def closed_a_window(snapshot: Snapshot) -> bool:
    """Whether something that lay over the page was closed at its capture, before its picture was taken."""
    results = ArchiveResult.objects.filter(snapshot=snapshot, plugin="modalcloser", status="succeeded")
    facts = (one for said in results.values_list("output_json", flat=True) if isinstance(said, list) for one in said)
    return any(isinstance(fact, dict) and fact.get("closed") for fact in facts)


def measures_of(said: JSON) -> list[dict[str, JSON]]:
    """The measures in what a hook has said; it may be anybody's hook."""
    measures = said.get("measures") if isinstance(said, dict) else None
    return [one for one in measures if isinstance(one, dict)] if isinstance(measures, list) else []


def estimate_of(measures: list[dict[str, JSON]]) -> int | None:
    """Percent of the saved page's words that the page had as it was sent, by which a replay is guessed at."""
    percents = (one.get("percent") for one in measures if one.get("name") == ESTIMATE)
    return next((percent for percent in percents if isinstance(percent, int)), None)
