"""Owns when replays are measured: by one job at a time, while no page waits to be captured."""

from datetime import timedelta

from django.db import IntegrityError
from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.contract.reasons import Reason, sentence
from archivebox.core.outputs.replay_quality import Score, record_score
from archivebox.core.snapshot import Snapshot
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.job import Job, JobPart

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
