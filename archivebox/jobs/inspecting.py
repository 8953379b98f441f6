"""Owns imports from the web interface and the API: a source is inspected first, and imported when somebody says so."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import Visibility
from archivebox.base_models.wakeups import notify_workers
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.intake.add_urls import default_visibility
from archivebox.crawls import control
from archivebox.export.collection import KIND as WHOLE_EXPORT
from archivebox.hooks import base_layers, resolve_settings
from archivebox.imports.accounts_and_settings import CollectionReader
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.page import InterruptibleReader, NotReadableError, Reader, SourceReport
from archivebox.imports.page_files import Transfer
from archivebox.imports.readers import open_reader
from archivebox.imports.rows import stored_key
from archivebox.imports.sources import ImportUpload, checked_path, identity_of, uploaded_keys
from archivebox.jobs.action import DeferredError, JobAction, Options
from archivebox.jobs.begin import JobRefusedError, Noting, without_record
from archivebox.jobs.models import IMPORTING_PAGES, Job, JobPart, packed
from archivebox.jobs.page_imports import ImportCounts, ImportPages
from archivebox.lib.batches import batches
from archivebox.lib.jsonl import JSON
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


REPORT = "report"
"""What a job remembers its report under."""


class InspectSource(JobAction):
    """Has no parts: its report is written when all of the source was read, and read again where that was cut short."""

    batch: ClassVar[int] = 1
    pauses_on_full_disk = True

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._is_stopped = False

    @classmethod
    def check(cls, options: Options) -> dict[str, JSON]:
        del options
        raise ValueError("A source is inspected on the page Import, or by POST /api/v1/imports.")

    def interrupt(self) -> None:
        self._is_stopped = True

    def finish(self) -> None:
        path = source_path(self.job)
        if path.is_file() and path.stat().st_size < self.job.memory.get("size", 0):
            raise NotReadableError("The file has not arrived as a whole.")
        try:
            self._inspect(path)
        except NotReadableError as error:  # of an uploaded file its own name says more than where it lies here
            raise NotReadableError(str(error).replace(str(path), self.job.memory["name"])) from None

    def _inspect(self, path: Path) -> None:
        reader = open_reader(path)
        if isinstance(reader, InterruptibleReader):
            reader.stop = self._stop
        report = reader.report()
        LeftOutList(self.job.pk).append(0, report.not_imported)
        self.job.memory[REPORT] = _remembered(reader, report)

    def _stop(self) -> None:
        if self._is_stopped:
            raise DeferredError


def source_path(job: Job) -> Path:
    """Where its source lies; NotReadableError where a path that was named may not be named any more."""
    path: str = job.options["path"]
    return Path(path) if "upload" in job.memory else checked_path(path)


def _remembered(reader: Reader, report: SourceReport) -> dict[str, JSON]:
    """The report without the list of what is left out, which has a file of its own."""
    has_more = isinstance(reader, CollectionReader) and bool(reader.accounts_and_settings().notes)
    return {
        "kind": report.kind, "pages": report.pages, "files": report.files, "size": report.size,
        "left_out": len(report.not_imported), "identity": report.identity, "notes": list(report.notes),
        "has_more": has_more,
    }  # fmt: skip


def report_of(job: Job) -> SourceReport | None:
    """What was found, but for the list of what is left out; None: nothing yet."""
    found: Mapping[str, Any] | None = job.memory.get(REPORT)
    if found is None:
        return None
    names = ("kind", "pages", "files", "size", "identity")
    return SourceReport(**{name: found[name] for name in names}, notes=tuple(found["notes"]))


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
