"""Owns the beginning of an import of pages: what a reader found becomes a job."""

from dataclasses import asdict
from pathlib import Path

from django.contrib.auth.models import User
from django.db import IntegrityError

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import Visibility
from archivebox.base_models.wakeups import notify_workers
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.intake.add_urls import default_visibility
from archivebox.imports.page import SourceReport
from archivebox.imports.page_files import Transfer
from archivebox.imports.rows import stored_key
from archivebox.imports.sources import identity_of
from archivebox.jobs.begin import JobRefusedError, Noting, without_record
from archivebox.jobs.job import IMPORTING_PAGES, Job, JobPart, packed
from archivebox.jobs.page_imports import ImportCounts, ImportPages
from archivebox.lib.batches import batches
from archivebox.lib.jsonl import JSON


def begin_import(
    path: Path,
    report: SourceReport,
    created_by: User,
    *,
    transfer: Transfer = Transfer.COPY,
    visibility: str = "",
    pages_only: bool = False,
    noting: Noting = without_record,
) -> Job:
    """Have workers import what ``report`` tells of; JobRefusedError where there is nothing, or it cannot be.

    ``pages_only``: without accounts, schedules and settings of a whole collection.
    """
    path = path.resolve()
    if not str(path).isprintable():
        raise JobRefusedError("The path has letters that are not UTF-8, or cannot be shown: rename its folders.")
    if DATA_FOLDER.root == path or DATA_FOLDER.root.is_relative_to(path):
        raise JobRefusedError(f"{path} is this collection, or contains it.")
    if not report.pages:
        raise JobRefusedError(f"{path} has no page that can be imported.")
    options: dict[str, JSON] = {
        "path": str(path),
        "transfer": str(transfer),
        "all": not pages_only,
        "visibility": Visibility(visibility or default_visibility({})).value,
    }
    memory: dict[str, JSON] = {
        "source": _source_key(path, report), "what": report.kind,
        "counts": asdict(ImportCounts()), "after": "", "length": 0, "crawls": [], "to_index": [], "note": "",
    }  # fmt: skip
    job = Job(kind=Job.Kind.IMPORT_PAGES, options=options, memory=memory, total=report.pages, created_by=created_by)
    try:
        _write(job, report.pages, noting)
    except IntegrityError:
        raise JobRefusedError(f"{path} is being imported: `archivebox job list --open` shows by which job.") from None
    return job


def unfinished_import(path: Path, report: SourceReport) -> Job | None:
    """The job that imports this source, queued, at work or paused; None: there is none."""
    return Job.objects.filter(IMPORTING_PAGES, memory__source=_source_key(path.resolve(), report)).first()


def _write(job: Job, pages: int, noting: Noting) -> None:
    with write_transaction():
        job.save(force_insert=True)
        places = batches((new_id() for _ in range(pages)), ImportPages.batch)
        JobPart.objects.bulk_create(
            JobPart(job=job, number=number, keys_packed=packed(keys)) for number, keys in enumerate(places)
        )
        noting(job)
        notify_workers()


def _source_key(path: Path, report: SourceReport) -> str:
    """What names the source in ``Job.memory``: a source has one import at a time."""
    return stored_key(report.identity or (identity_of(path) if path.is_file() else str(path)))
