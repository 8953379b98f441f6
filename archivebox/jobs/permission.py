"""Owns what a job may be done to, and what of it is there for whom."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from archivebox.accounts.permission import Who, viewer_scope
from archivebox.base_models.visibility import ViewerScope, hidden_from
from archivebox.core.snapshot import Snapshot
from archivebox.jobs.models import Job, JobFailure, JobQuerySet
from archivebox.lib.jsonl import JSON

_NARROW = "narrow"


def limits(scope: ViewerScope | None) -> dict[str, JSON]:
    """What a job remembers of who began it: a token of an administrator may be one that does not administer."""
    return {} if scope is None or scope.is_whole else {_NARROW: True}


def scope_of_job(job: Job) -> ViewerScope:
    """How far whoever began it sees by now; it does nothing to what is hidden from them."""
    scope = viewer_scope(job.created_by)
    return ViewerScope(job.created_by_id) if scope.is_whole and job.memory.get(_NARROW) else scope


def visible_jobs(who: Who) -> JobQuerySet:
    """The jobs of ``who``, and all to an administrator: what others asked for, and what came of it, is theirs."""
    rows: JobQuerySet = Job.objects.select_related("created_by")
    scope = viewer_scope(who)
    return rows if scope.is_whole else rows.filter(created_by=scope.account)


def visible_failures(who: Who, job: Job) -> "QuerySet[JobFailure]":
    """The pages to which it could not be done, but those that are hidden from ``who``."""
    rows, seen = failures_among(who, job)
    return rows.filter(seen)


def failures_among(who: Who, job: Job) -> "tuple[QuerySet[JobFailure], Q]":
    """All of its failures, and what is true of those in :func:`visible_failures`: for lists that look so far."""
    scope = viewer_scope(who)
    hidden = Exists(hidden_from(scope, Snapshot.objects.filter(pk=OuterRef("snapshot_id"))))
    return JobFailure.objects.filter(job=job), Q() if scope.is_whole else ~Q(hidden)
