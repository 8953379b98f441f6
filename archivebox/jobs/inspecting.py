"""Owns imports from the web interface and the API: a source is inspected first, and imported when somebody says so."""

from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.contrib.auth.models import User

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.crawls import control
from archivebox.export.collection import KIND as WHOLE_EXPORT
from archivebox.hooks import base_layers, resolve_settings
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.page import NotReadableError
from archivebox.imports.page_files import Transfer
from archivebox.imports.sources import ImportUpload, checked_path, uploaded_keys
from archivebox.jobs.begin import JobRefusedError, Noting, without_record
from archivebox.jobs.begin_import import begin_import
from archivebox.jobs.job import Job
from archivebox.jobs.source_inspection import report_of, source_path
from archivebox.lib.quantities import size

MOST_UPLOADS = 5
"""Files of one account that wait to be imported."""


@dataclass(frozen=True, slots=True)
class ImportChoices:
    """How an inspected source is imported. ``whole``: with accounts, schedules and settings of a collection."""

    transfer: Transfer = Transfer.COPY
    visibility: str = ""
    whole: bool = False


def inspect_path(text: str, created_by: User, noting: Noting = without_record) -> Job:
    """Have workers read what lies at a path of the server; NotReadableError where it may not be named."""
    path = checked_path(text.strip())
    options, memory = {"path": str(path)}, {"name": str(path)}
    job = Job(kind=Job.Kind.INSPECT, total=0, created_by=created_by, options=options, memory=memory)
    with write_transaction():
        job.save(force_insert=True)
        noting(job)
        notify_workers()
    return job


def expect_upload(name: str, length: int, created_by: User, noting: Noting = without_record) -> Job:
    """A job that waits for a file of so many bytes; NotReadableError where it is too large, or there are too many."""
    _check_length(length)
    mine = Job.objects.filter(created_by=created_by, pk__in=uploaded_keys()).count()
    if mine >= MOST_UPLOADS:
        raise NotReadableError(f"{MOST_UPLOADS} uploaded files wait to be imported. Import or discard one of them.")
    key = new_id()
    upload = ImportUpload(key, name[-200:], length)
    job = Job(
        pk=key, kind=Job.Kind.INSPECT, status=Job.StatusChoices.PAUSED, retry_at=None, total=0, created_by=created_by,
        options={"path": str(upload.path)}, memory={"name": upload.name, "size": length, "upload": str(key)},
    )  # fmt: skip
    upload.create()
    with write_transaction():
        job.save(force_insert=True)
        noting(job)
    return job


def _check_length(length: int) -> None:
    most = resolve_settings(base_layers()).get_int("IMPORT_UPLOAD_MAX")
    if length < 1:
        raise NotReadableError("The file is empty.")
    if length > most:
        raise NotReadableError(
            f"A file can have at most {size(most)}. Administrators can name a larger file on the server, or raise "
            "IMPORT_UPLOAD_MAX."
        )


def upload_of(job: Job) -> ImportUpload | None:
    """The file that was uploaded for it, there or not; None where a path was named."""
    memory = job.memory
    return ImportUpload(UUID(memory["upload"]), memory["name"], memory["size"]) if "upload" in memory else None


def is_uploading(job: Job) -> bool:
    """Whether its file has not arrived as a whole."""
    upload = upload_of(job)
    return job.status == Job.StatusChoices.PAUSED and upload is not None and 0 <= upload.received < upload.size


def receive(job: Job, offset: int, piece: bytes) -> int:
    """Keep a piece of its file, and have workers read the file when it is whole; returns how much is there.

    FileNotFoundError where it does not wait for one; NotReadableError; OSError of the disk.
    """
    upload = upload_of(job)
    if upload is None or job.status != Job.StatusChoices.PAUSED:
        raise FileNotFoundError("It does not wait for a file.")
    received = upload.append(offset, piece)
    if received == upload.size:
        control.resume(job)
    return received


def needs_administrator(job: Job) -> bool:
    """Whether only administrators import it: what lies on the server, and exports, which say whose pages they are."""
    report = report_of(job)
    return upload_of(job) is None or (report is not None and report.identity == WHOLE_EXPORT)


def import_of(job: Job) -> UUID | None:
    """The job that imports what this one has found."""
    return UUID(job.memory["import"]) if "import" in job.memory else None


def start(job: Job, by: User, choices: ImportChoices, noting: Noting = without_record) -> Job:
    """Have workers import what was found, once; JobRefusedError where that cannot be."""
    report, upload = report_of(job), upload_of(job)
    if report is None or job.status != Job.StatusChoices.SEALED:
        raise JobRefusedError("It has not been read yet.")
    if upload is not None and upload.received != upload.size:
        raise JobRefusedError("The file is not there any more. Upload it again.")
    transfer = Transfer.COPY if upload else choices.transfer
    try:
        return begin_import(
            source_path(job), report, by, transfer=transfer, visibility=choices.visibility,
            pages_only=not choices.whole, noting=partial(_link, job, noting),
        )  # fmt: skip
    except (JobRefusedError, NotReadableError) as problem:
        raise JobRefusedError(str(problem).replace(job.options["path"], job.memory["name"])) from None


def _link(inspection: Job, noting: Noting, importing: Job) -> None:
    """In the transaction by which the import begins: it is begun once, and its end removes an uploaded file."""
    Job.objects.filter(pk=inspection.pk).lock()
    inspection.refresh_from_db()
    if import_of(inspection) is not None:
        raise JobRefusedError("Its import was begun already.")
    inspection.memory["import"] = str(importing.pk)
    inspection.save(update_fields=["memory"])
    importing.memory |= {name: inspection.memory[name] for name in ("name", "upload") if name in inspection.memory}
    importing.save(update_fields=["memory"])
    noting(importing)


def discard(job: Job) -> bool:
    """Forget a source that is not imported, with its uploaded file; False where that was begun, or it is being read."""
    upload = upload_of(job)
    with write_transaction():
        Job.objects.filter(pk=job.pk).lock()
        job.refresh_from_db()
        if import_of(job) is not None or job.owner is not None:
            return False
        job.delete()
    if upload is not None:
        upload.remove()
    LeftOutList(job.pk).path.unlink(missing_ok=True)
    return True
