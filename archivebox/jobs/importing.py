"""Owns imports: a list that somebody gave is read, and waits as a job until it is said what to do with it."""

from collections.abc import Iterable, Mapping
from typing import BinaryIO

from django.contrib.auth.models import User

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import Sight
from archivebox.config.resolve import Resolved
from archivebox.core.intake.parse_input import Again, understand
from archivebox.crawls import control
from archivebox.jobs.begin import Noting, in_silence
from archivebox.jobs.deeds import DEEDS
from archivebox.jobs.imported import Imported
from archivebox.jobs.job import Job, JobPart, packed
from archivebox.lib.batches import batches
from archivebox.lib.jsonl import JSON
from archivebox.lib.links.link import LinkFileError

MOST_URLS = 200_000
"""URLs of one import: reading so many takes about ten seconds."""


def take(
    files: Iterable[BinaryIO],
    name: str,
    *,
    created_by: User,
    sight: Sight,
    settings: Resolved,
    may_name_private: bool,
    noting: Noting = in_silence,
) -> Job:
    """Read what was given, and keep it; nothing is added. LinkFileError where it cannot be read, or has no URL.

    ``sight``: what whoever gives it does not see is not known already.
    """
    found = understand(files, settings, sight, may_name_private=may_name_private)
    count = len(found.fresh) + len(found.known)
    if count > MOST_URLS:
        raise LinkFileError(f"has {count:,} URLs. {MOST_URLS:,} is the most here; `archivebox add --file` takes more")
    if not count and not found.refusals:
        raise LinkFileError("has no URL in it")
    told = {"name": name, "fresh": len(found.fresh), "known": len(found.known), "refused": len(found.refusals),
            "repeated": found.repeated}  # fmt: skip
    paused = Job.StatusChoices.PAUSED
    job = Job(kind=Job.Kind.IMPORT, status=paused, retry_at=None, total=0, memory=told, created_by=created_by)
    Imported(job.pk).write(found)
    with write_transaction():
        job.save(force_insert=True)
        noting(job)
    return job


def is_waiting(job: Job) -> bool:
    """Whether it has not been said yet what to do with it."""
    return job.kind == Job.Kind.IMPORT and job.status == Job.StatusChoices.PAUSED and "offset" not in job.memory


def start(job: Job, options: Mapping[str, JSON], again: Again, days: int = 0, noting: Noting = in_silence) -> bool:
    """Have workers add what is chosen, as one crawl; False where nothing is, or it was begun already."""
    count = Imported(job.pk).choose(again, days)
    with write_transaction():
        Job.objects.filter(pk=job.pk).hold()
        job.refresh_from_db()
        if not count or not is_waiting(job):
            return False
        lines = (new_id() for _ in range(count))
        JobPart.objects.bulk_create(
            JobPart(job=job, number=number, keys_packed=packed(batch))
            for number, batch in enumerate(batches(lines, DEEDS[Job.Kind.IMPORT].batch))
        )
        job.options, job.total, job.memory = dict(options), count, {**job.memory, "offset": 0}
        job.save(update_fields=["options", "total", "memory"])
        noting(job)
    return control.resume(job)


def forget(job: Job) -> None:
    """Give up an import that was not begun."""
    if is_waiting(job):
        Imported(job.pk).delete()
        job.delete()
