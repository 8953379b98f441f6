"""Owns the jobs that measure how much of pages their replay shows."""

from collections.abc import Sequence
from datetime import datetime
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from archivebox.core.outputs.replay_quality import Count, Score, closed_a_window, record_score
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.jobs.action import DeferredError, Failures, FallibleAction
from archivebox.jobs.idle_check import IdleCheck
from archivebox.jobs.job import Job

if TYPE_CHECKING:
    from archivebox.replay.likeness import Comparing, Likeness


class MeasureChosen(FallibleAction):
    """Measures the replay of pages that somebody has chosen."""

    batch: ClassVar[int] = 2
    why_not = "It is not there any more, or is at work: measure it when that is done."

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._comparing: Comparing | None = None
        self._scores: dict[UUID, tuple[datetime | None, Score]] = {}
        """By Snapshot, with the time of the seal that was measured."""

    @classmethod
    def rows(cls) -> SnapshotQuerySet:
        return super().rows().filter(status=Snapshot.StatusChoices.SEALED)

    def begin_or_resume(self) -> bool:
        self._comparing = self._begin()
        return True

    def _begin(self) -> "Comparing":
        comparing: Comparing = _likeness().Comparing()
        return comparing

    def prepare(self, keys: Sequence[UUID]) -> None:
        self._scores = {page.pk: (page.sealed_at, self._score(page)) for page in self.among().filter(pk__in=keys)}
        self._found = {key: score.problem for key, (_, score) in self._scores.items() if score.problem}

    def _score(self, page: Snapshot) -> Score:
        likeness = _likeness()
        if self._comparing is None:
            raise DeferredError
        try:
            return _score_of(self._comparing.compare(page), is_covered=closed_a_window(page))
        except likeness.NotComparableError as reason:
            return Score(problem=str(reason))
        except likeness.PreemptedError:
            raise DeferredError from None

    def write(self, keys: Sequence[UUID]) -> Failures:
        failures = super().write(keys)
        for key, (sealed_at, score) in self._scores.items():
            record_score(key, sealed_at, score)
        return failures

    def interrupt(self) -> None:
        if self._comparing is not None:
            self._comparing.interrupt()

    def close(self) -> None:
        if self._comparing is not None:
            self._comparing.end()


class MeasureCaptures(MeasureChosen):
    """Measures the replay of what was captured, while nothing else is to be done; what cannot be is no failure."""

    batch = 1

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._idle_check = IdleCheck()

    def _begin(self) -> "Comparing":
        comparing: Comparing = _likeness().Comparing(is_idle_work=True, is_preempted=self._idle_check.must_stop)
        return comparing

    def prepare(self, keys: Sequence[UUID]) -> None:
        if not self._idle_check.may_start():
            raise DeferredError
        super().prepare(keys)

    def write(self, keys: Sequence[UUID]) -> Failures:
        super().write(keys)
        return {}


def _likeness() -> ModuleType:
    from archivebox.replay import likeness  # parsers, 30 ms that no other work of workers needs

    return likeness


def _score_of(likeness: "Likeness", *, is_covered: bool = False) -> Score:
    words, tiles = (None if counted is None else Count(*counted) for counted in (likeness.words, likeness.tiles))
    scripted = None if likeness.scripted is None else _score_of(likeness.scripted, is_covered=is_covered)
    copies = {key: _score_of(copy) for key, copy in likeness.copies.items()}
    return Score(words, tiles, is_covered=is_covered, scripted=scripted, copies=copies)
