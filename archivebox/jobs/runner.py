"""Owns the steps by which a worker carries out a job that it has leased. Each is one short transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.jobs.action import Failures, JobAction
from archivebox.jobs.begin import add_parts
from archivebox.jobs.models import Job, JobFailure, JobPart, packed


@dataclass(frozen=True, slots=True)
class NextPart:
    """What comes next: the keys of some Snapshots."""

    number: int
    keys: list[UUID]


def held(lease_of: Job) -> Job | None:
    """The row as it is now, kept from others until the transaction ends; None: the lease is lost."""
    rows = Job.objects.filter(lease_of.guard())
    rows.lock()
    job: Job | None = rows.select_related("created_by").first()
    return job


def next_part(job: Job) -> NextPart | None:
    """None: all are done."""
    part = JobPart.objects.filter(job=job, number=job.position).first()
    return None if part is None else NextPart(part.number, part.keys)


def add_next_part(known: Job, keys: Sequence[UUID]) -> Job | None:
    """Decide on more Snapshots; None: the lease is lost."""
    with write_transaction():
        job = held(known)
        if job is None or job.total is not None or job.memory.get("frozen", 0) != known.memory.get("frozen", 0):
            return job  # a try before this one was committed, but not heard of
        add_parts(job, keys)
        _save(job, "total", "memory")
    return job


def write_part(known: Job, action: JobAction, part: NextPart) -> Job | None:
    """Do it to what is prepared of a part, and note that this is done; None: the lease is lost.

    What is done already is not done again.
    """
    with write_transaction():
        job = held(known)
        if job is None or next_part(job) != part:
            return job
        action.job = job
        count = action.prepared(part.keys)
        failures = action.write(part.keys[:count])
        note(job, failures)
        _shorten(job, part.keys[count:])
        job.failed += len(failures)
        job.done += count - len(failures)
        job.attempts = 0
        _save(job, "position", "failed", "done", "attempts", "memory")
    return job


def _shorten(job: Job, rest: Sequence[UUID]) -> None:
    """Leave the ``rest`` of the part that was worked on for the next time; none: the next part comes then."""
    if rest:
        JobPart.objects.filter(job=job, number=job.position).update(keys_packed=packed(rest))
    else:
        job.position += 1


def restart_job(known: Job) -> Job | None:
    """What a job had begun to write is lost: its Snapshots stay decided on, and all are done again."""
    with write_transaction():
        job = held(known)
        if job is not None:
            JobFailure.objects.filter(job=job).delete()
            job.position = job.done = job.failed = 0
            job.memory.pop("lengths", None)
            _save(job, "position", "done", "failed", "memory")
    return job


def end_lease(known: Job, event: str, **columns: object) -> None:
    """End the lease by a transition, unless it is lost. Whoever waits for the job is told."""
    with write_transaction():
        job = held(known)
        if job is None:
            return
        if event == "seal":
            columns |= {"ended_at": timezone.now(), "memory": known.memory}
        job.transition(event, **columns)
        notify_workers()


def note(job: Job, failures: Failures) -> None:
    """Put on record to which Snapshots it could not be done."""
    rows = [JobFailure(job=job, snapshot_id=key, sentence=sentence) for key, sentence in failures.items()]
    JobFailure.objects.bulk_create(rows, ignore_conflicts=True)


def _save(job: Job, *columns: str) -> None:
    Job.objects.filter(job.guard()).update(**{name: getattr(job, name) for name in columns}, modified_at=timezone.now())
