"""Owns what is done to a few Snapshots while somebody waits: a job like any other, written when it is over."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.accounts.permission import viewer_scope
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import seen_by
from archivebox.base_models.wakeups import notify_workers
from archivebox.core.crawl_control.edit_crawl import discard
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.core.tag import Tag
from archivebox.crawls import control
from archivebox.crawls.crawl import Crawl
from archivebox.jobs.action import actions
from archivebox.jobs.begin import JobRequest, Noting, begin, without_record
from archivebox.jobs.models import Job, JobPart, packed
from archivebox.jobs.runner import note
from archivebox.lib.jsonl import JSON
from archivebox.search.finding import newest_keys
from archivebox.search.query import chosen

FEW = 20
"""Snapshots to which something is done at once."""
QUICK = frozenset({"tag", "untag", "retry", "recapture", "remove", "restore", "visibility"})
"""What touches rows alone, and no files."""
OPPOSITE = {Job.Kind.TAG: Job.Kind.UNTAG, Job.Kind.UNTAG: Job.Kind.TAG}


def do(request: JobRequest, *, noting: Noting = without_record) -> Job:
    """What :func:`begin` takes; done when this returns where that is quick, else a job that workers carry out.

    JobRefusedError, QueryError, SearchUnavailableError: nothing is done.
    """
    job = request.job()
    keys = _chosen(request) if request.kind in QUICK else []
    if not 0 < len(keys) <= FEW:
        return begin(request, noting=noting)
    job.total = len(keys)
    _carry_out(job, keys, noting)
    return job


def _chosen(request: JobRequest) -> list[UUID]:
    """Those that are meant; of more than FEW one more than that."""
    if request.query is not None:
        scope, among = request.scope or viewer_scope(request.created_by), actions()[request.kind].rows()
        return newest_keys(chosen(request.query, scope, among=among, every=True), FEW + 1)
    if (former := request.former) is not None:
        return _keys_of(former) if former.total is not None and former.total <= FEW else []
    return list(dict.fromkeys(request.snapshots))


def _keys_of(job: Job) -> list[UUID]:
    return [key for part in JobPart.objects.filter(job=job).order_by("number") for key in part.keys]


def _carry_out(job: Job, keys: Sequence[UUID], noting: Noting) -> None:
    """All of it is one part, and one transaction."""
    action = actions()[job.kind](job)
    action.prepare(keys)
    with write_transaction():
        job.save(force_insert=True)
        JobPart.objects.create(job=job, number=0, keys_packed=packed(keys))
        if job.kind in OPPOSITE:
            job.memory["changed"] = _tags_to_change(job, keys)
        if job.kind == Job.Kind.VISIBILITY:
            job.memory["seen_by"] = _visibilities(action.among(), keys)
        failures = action.write(keys)
        note(job, failures)
        job.position, job.failed, job.done = 1, len(failures), len(keys) - len(failures)
        job.save()
        job.transition("seal", ended_at=timezone.now())
        noting(job)
        notify_workers()


def _tags_to_change(job: Job, keys: Sequence[UUID]) -> dict[str, list[str]]:
    """Tag → the Snapshots that get it, or lose it: those that had it before keep it when this is undone."""
    slugs = {Tag.slug_of(name): name for name in job.options["tags"]}
    put = Snapshot.tags.through.objects.filter(snapshot_id__in=keys, tag__slug__in=slugs)
    there = set(put.values_list("tag__slug", "snapshot_id"))
    wants_it = job.kind == Job.Kind.UNTAG
    return {name: [str(key) for key in keys if ((slug, key) in there) is wants_it] for slug, name in slugs.items()}


def _visibilities(rows: SnapshotQuerySet, keys: Sequence[UUID]) -> dict[str, list[str]]:
    """Who saw which of them before."""
    before: dict[str, list[str]] = {}
    for key, visibility in rows.filter(pk__in=keys).values_list("pk", "visibility"):
        before.setdefault(visibility, []).append(str(key))
    return before


# --- undoing ------------------------------------------------------------------------------------------------------


def can_undo(job: Job) -> bool:
    """Whether what it did can be undone by :func:`undo`."""
    return job.kind == Job.Kind.REMOVE or not job.memory.keys().isdisjoint({"changed", "crawl", "seen_by"})


def undo(job: Job, created_by: User) -> None:
    """Bring back what was removed, take off the tags that were put on, discard the crawl, let those see who did.

    Again does no harm.
    """
    if job.status in Job.OPEN:
        control.cancel(job)
    if job.kind == Job.Kind.REMOVE:
        do(JobRequest(Job.Kind.RESTORE, created_by=created_by, former=job))
    for crawl in seen_by(viewer_scope(created_by), Crawl.objects.filter(pk=job.memory.get("crawl"))):
        discard(crawl)
    for name, keys in job.memory.get("changed", {}).items():
        if keys:
            opposite, chosen = OPPOSITE[Job.Kind(job.kind)], [UUID(key) for key in keys]
            do(JobRequest(opposite, created_by=created_by, options={"tags": [name]}, snapshots=chosen))
    for visibility, keys in job.memory.get("seen_by", {}).items():
        chosen = [UUID(key) for key in keys]
        options: dict[str, JSON] = {"visibility": visibility}
        do(JobRequest(Job.Kind.VISIBILITY, created_by=created_by, options=options, snapshots=chosen))
