"""Owns what a page lists of the work on a snapshot: results, what is missing first, and a timeline of processes.

The timeline has them as bars on one scale of time, step by step, their waits visible.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from archivebox.contract.formats import File
from archivebox.contract.verdicts import is_consequence, is_missed
from archivebox.core.archiveresult import ArchiveResult
from archivebox.hooks import extract_step
from archivebox.machine.process import Process
from archivebox.web.snapshot.file_excerpts import address_of
from archivebox.web.templatetags.processes import GOOD_CODES

FILES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class ListedResult:
    """One result: its first files with their addresses, how many more there are, and its tries, the latest first."""

    result: ArchiveResult
    files: list[tuple[str, File]]
    more: int
    tries: list[Process]

    @property
    def is_consequence(self) -> bool:
        """Whether another result says why."""
        return is_consequence(self.result)

    @property
    def seconds(self) -> float | None:
        """How long its latest try took; None for what did not run."""
        if self.result.status == "skipped":
            return None
        if self.tries:
            return self.tries[0].seconds
        start, end = self.result.start_ts, self.result.end_ts
        return (end - start).total_seconds() if start and end else None


@dataclass(frozen=True, slots=True)
class ListedResults:
    """All results of a page, by what they are to people."""

    missing: list[ListedResult]
    open: list[ListedResult]
    kept: list[ListedResult]
    apart: list[ListedResult]

    @property
    def open_groups(self) -> list[tuple[str, list[ListedResult]]]:
        """What somebody may have to see to, with a word for each."""
        return _named(("Missing", self.missing), ("In progress", self.open))

    @property
    def folded_groups(self) -> list[tuple[str, list[ListedResult]]]:
        """What is as it should be."""
        return _named(("Saved", self.kept), ("Nothing to save", self.apart))


def _named(*groups: tuple[str, list[ListedResult]]) -> list[tuple[str, list[ListedResult]]]:
    return [(name, lines) for name, lines in groups if lines]


def group_results(results: Iterable[ArchiveResult], processes: Iterable[Process], base: str) -> ListedResults:
    """Each result in its group, in the order in which hooks run."""
    tries: dict[UUID | None, list[Process]] = defaultdict(list)
    for process in processes:
        if process.process_type == Process.TypeChoices.HOOK:
            tries[process.archiveresult_id].append(process)
    found = ListedResults([], [], [], [])
    for result in sorted(results, key=lambda one: (one.hook_name or one.plugin, one.plugin)):
        _group(found, result).append(_line(result, tries[result.pk], base))
    return found


def _group(lines: ListedResults, result: ArchiveResult) -> list[ListedResult]:
    if is_missed(result):
        return lines.missing
    if result.status in {"queued", "started"}:
        return lines.open
    return lines.kept if result.status == "succeeded" else lines.apart


def _line(result: ArchiveResult, tries: list[Process], base: str) -> ListedResult:
    names = sorted(result.output_files.items())
    files = [
        (base + address_of(result.plugin, name), File(name, about.get("size", 0), about.get("mimetype", "")))
        for name, about in names[:FILES_SHOWN]
    ]
    return ListedResult(result, files, len(names) - len(files), tries)


# --- the timeline --------------------------------------------------------------------------------------------------

LONGEST_GAP = 2.0
"""Seconds without any process that are drawn as long as they are; longer ones are cut to as much."""
FINE = frozenset({None, *GOOD_CODES})
"""How hooks end that did as they should, as far as anybody saw."""
THINNEST = 0.25
"""Per cent of the width below which no bar goes: it has to be seen, and clicked."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One process. ``left`` and ``width`` are per cent of the whole; ``outcome`` is a word for its look."""

    process: Process
    left: float
    width: float
    outcome: str
    is_program: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """A time in which a hook had to wait: for others of its step, or for its next try."""

    left: float
    right: float


@dataclass(slots=True)
class TimelineRow:
    """One hook with all its tries, and the programs that these ran."""

    step: int
    plugin: str
    hook: str
    bars: list[Bar] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """``cuts``: where, in per cent, a time without any process is left out."""

    rows: list[TimelineRow]
    begin: datetime
    end: datetime
    cuts: list[float]

    @property
    def seconds(self) -> float:
        return (self.end - self.begin).total_seconds()


Span = tuple[datetime, datetime]


def timeline_of(processes: Iterable[Process]) -> Timeline | None:
    """The timeline of hooks and their programs; None where nothing has begun."""
    now = timezone.now()
    begun = [process for process in processes if process.started_at]
    hooks = [process for process in begun if process.hook_name and process.process_type == Process.TypeChoices.HOOK]
    if not hooks:
        return None
    scale = _Scale([_span(process, now) for process in hooks])
    rows = _rows(hooks, scale, now)
    _put_programs(rows, begun, scale, now)
    ordered = sorted(rows.values(), key=lambda row: (row.step, row.bars[0].left, row.hook))
    return Timeline(ordered, scale.begin, scale.end, scale.cuts)


def _rows(hooks: Sequence[Process], scale: "_Scale", now: datetime) -> dict[str, TimelineRow]:
    steps: dict[int, datetime] = {}
    rows: dict[str, TimelineRow] = {}
    for process in sorted(hooks, key=lambda one: (one.started_at or now, one.pk)):
        start, end = _span(process, now)
        step = extract_step(process.hook_name)
        row = rows.setdefault(process.hook_name, TimelineRow(step, process.plugin, process.hook_name))
        ready = row.bars[-1].process.ended_at or start if row.bars else steps.setdefault(step, start)
        row.waits += scale.wait(ready, start)
        row.bars.append(scale.bar(process, start, end, is_program=False))
        row.seconds += (end - start).total_seconds()
    return rows


def _put_programs(rows: dict[str, TimelineRow], begun: Iterable[Process], scale: "_Scale", now: datetime) -> None:
    of_hook: dict[UUID | None, TimelineRow] = {bar.process.pk: row for row in rows.values() for bar in row.bars}
    for process in begun:
        row = of_hook.get(process.parent_id)
        if row is not None and process.process_type == Process.TypeChoices.BINARY:
            row.bars.append(scale.bar(process, *_span(process, now), is_program=True))


def _span(process: Process, now: datetime) -> Span:
    start = process.started_at or now
    return start, max(start, process.ended_at or now)


class _Scale:
    """From moments to per cent, long times without any process cut short."""

    def __init__(self, spans: Sequence[Span]) -> None:
        busy = _merged(spans)
        self.begin, self.end = busy[0][0], busy[-1][1]
        self._marks: list[tuple[datetime, float]] = []
        """Moments and how far they are, in seconds of the scale; in between it is even."""
        cut_at, far = [], 0.0
        before = self.begin
        for start, end in busy:
            gap = (start - before).total_seconds()
            if gap > LONGEST_GAP:
                cut_at.append(far + LONGEST_GAP / 2)
            far += min(gap, LONGEST_GAP)
            self._marks.append((start, far))
            far += (end - start).total_seconds()
            self._marks.append((end, far))
            before = end
        self._whole = far or 1.0
        self.cuts = [round(100 * at / self._whole, 3) for at in cut_at]

    def at(self, moment: datetime) -> float:
        """Per cent of the whole width."""
        (before, far), *rest = self._marks
        for mark, further in rest:
            if moment <= mark:
                length = (mark - before).total_seconds()
                share = (moment - before).total_seconds() / length if length else 1.0
                return 100 * (far + (further - far) * min(1.0, max(0.0, share))) / self._whole
            before, far = mark, further
        return 100.0

    def bar(self, process: Process, start: datetime, end: datetime, *, is_program: bool) -> Bar:
        left, right = self.at(start), self.at(end)
        width = max(THINNEST, right - left)
        return Bar(process, round(min(left, 100 - width), 3), round(width, 3), _outcome(process), is_program)

    def wait(self, ready: datetime, start: datetime) -> list[Wait]:
        left, right = self.at(ready), self.at(start)
        return [Wait(round(left, 3), round(right, 3))] if right - left > THINNEST else []


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Spans that overlap as one, in order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _outcome(process: Process) -> str:
    if process.ended_at is None:
        return "busy"
    return "good" if process.exit_code in FINE else "bad"
