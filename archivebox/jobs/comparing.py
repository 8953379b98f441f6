"""Owns measuring how much of pages their replay shows: the jobs, when one starts, and whether the machine is idle."""

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

import psutil
from django.db import IntegrityError
from django.db.models import Exists, OuterRef
from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.base_models.work import HELD
from archivebox.contract.reasons import Reason, sentence
from archivebox.core.outputs.replay_quality import Count, Score, closed_a_window, record_score
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.crawls.crawl import Crawl
from archivebox.jobs.action import DeferredError, Failures, FallibleAction
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.models import Job, JobPart

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


SAMPLE = 0.5
"""Seconds in which the use of all cores is looked at."""


class IdleCheck:
    """Whether it is the turn of measuring, asked before a page and again and again while its replay is shown.

    Pages that wait to be captured come first. Beside those that are being captured a replay is measured only where a
    core has nothing to do.
    """

    def __init__(self) -> None:
        self._is_beside = False

    def may_start(self) -> bool:
        """Blocks for half a second where pages are being captured."""
        if _page_waits():
            return False
        self._is_beside = _page_is_at_work()
        return not self._is_beside or has_idle_core()

    def must_stop(self) -> bool:
        return _page_waits() or (not self._is_beside and _page_is_at_work())


def has_idle_core() -> bool:
    """Whether one core, or the same of several, has nothing to do."""
    cores = os.cpu_count() or 1
    return cores * (100 - psutil.cpu_percent(SAMPLE)) / 100 >= 1


def _page_waits() -> bool:
    waiting = Snapshot.objects.free().filter(crawl_id=OuterRef("pk"), retry_at__lte=timezone.now())
    return bool(Crawl.objects.open().filter(Exists(waiting)).exists())


def _page_is_at_work() -> bool:
    return bool(Snapshot.objects.filter(HELD, finishing=False).exists())


AT_A_TIME = 200
"""Pages of one job: the newest first, so that pages which are captured meanwhile come before old ones."""
AFTER_A_PROBLEM = timedelta(hours=1)
"""How soon another job begins after one that could not do its work, or was cancelled."""
_UNFINISHED = (*Job.OPEN, Job.StatusChoices.PAUSED)


def measure_when_idle() -> None:
    """Begin a job for pages whose replay nobody has measured, if there are any and none is open.

    Called again and again by every worker; a constraint of the database lets one of them begin it.
    """
    if not Snapshot.objects.unmeasured().order_by("-id")[:1]:
        return
    former = Job.objects.filter(kind=Job.Kind.MEASURE).order_by("-id").first()
    if former is not None and (former.status in _UNFINISHED or _is_too_soon(former)):
        return
    if former is not None and former.problem == sentence(Reason.WORKER_LOST):
        _record_unmeasurable(former)
    keys = list(Snapshot.objects.unmeasured().order_by("-id").values_list("pk", flat=True)[:AT_A_TIME])
    if not keys:
        return
    request = JobRequest(Job.Kind.MEASURE, created_by=system_user(), snapshots=keys)
    try:
        begin(request, noting=_forget_former)
    except IntegrityError:  # another worker was quicker
        return


def _is_too_soon(former: Job) -> bool:
    has_failed = bool(former.problem) or former.status == Job.StatusChoices.CANCELLED
    return has_failed and former.modified_at > timezone.now() - AFTER_A_PROBLEM


def _forget_former(job: Job) -> None:
    """Of these jobs the list shows the last one alone: nobody asked for them."""
    Job.objects.filter(kind=Job.Kind.MEASURE).exclude(pk=job.pk).delete()


def _record_unmeasurable(former: Job) -> None:
    """The page at which workers have died again and again is not measured any more."""
    part = JobPart.objects.filter(job=former, number=former.position).first()
    for page in Snapshot.objects.filter(pk__in=part.keys if part else []):
        record_score(
            page.pk, page.sealed_at, Score(problem="Not measured: its replay ended the worker that showed it.")
        )
