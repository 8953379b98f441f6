"""Imports of archived pages: a file is sent in pieces, workers read it, and its pages are imported at a request."""

from datetime import datetime
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Router, Schema, Status
from pydantic import Field

from archivebox.accounts.permission import may
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.problems import ProblemError
from archivebox.api.routes.jobs import JobOut
from archivebox.api.shapes.archive import RequestBody, Text
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.page import NotReadableError
from archivebox.imports.sources import PIECE
from archivebox.jobs import inspecting
from archivebox.jobs.begin import JobRefusedError
from archivebox.jobs.inspecting import ImportChoices, report_of
from archivebox.jobs.models import Job
from archivebox.jobs.permission import visible_jobs

router = Router(tags=["imports"])
LEFT_OUT_MOST = 1_000
"""Items that one answer lists."""


class FileIn(RequestBody):
    """A file that follows in pieces."""

    name: Annotated[Text, Field(min_length=1, description="With its ending, such as `crawl.warc.gz`")]
    size: Annotated[int, Field(ge=1, lt=1 << 62, description="Bytes")]


class ChoicesIn(RequestBody):
    visibility: Annotated[Literal["public", "members", "private"] | None, Field(description="Else VISIBILITY")] = None


class LeftOut(Schema):
    """What is not imported."""

    item: str
    reason: str


class ReportOut(Schema):
    """What is in the file."""

    kind: str
    pages: int
    files: int
    size: Annotated[int, Field(description="Bytes")]
    notes: list[str]
    not_imported: Annotated[list[LeftOut], Field(description=f"The first {LEFT_OUT_MOST:,}")]


class ImportOut(Schema):
    """A file of archived pages, before they are imported."""

    id: UUID
    name: str
    status: Annotated[str, Field(description="`paused` until the file has arrived, `sealed` when it was read")]
    size: int
    received: Annotated[int, Field(description="Bytes that have arrived; -1: the file was deleted")]
    problem: str
    report: Annotated[ReportOut | None, Field(description="null until it was read")]
    job_id: Annotated[UUID | None, Field(description="The job that imports its pages; null until you start it")]
    created_at: datetime

    @classmethod
    def of(cls, job: Job) -> "ImportOut":
        upload = inspecting.upload_of(job)
        assert upload is not None  # noqa: S101 - others are not found
        columns = {name: getattr(job, name) for name in ("id", "status", "problem", "created_at")}
        return cls(
            **columns, name=upload.name, size=upload.size, received=upload.received, report=_report(job),
            job_id=inspecting.import_of(job),
        )  # fmt: skip


def _report(job: Job) -> ReportOut | None:
    report = report_of(job)
    if report is None:
        return None
    items = [LeftOut(item=one.item, reason=one.reason) for one in LeftOutList(job.pk).first(LEFT_OUT_MOST)]
    return ReportOut(
        kind=report.kind, pages=report.pages, files=report.files, size=report.size, notes=list(report.notes),
        not_imported=items,
    )  # fmt: skip


@router.post("", response={201: ImportOut}, auth=Bearer(Action.EDIT))
def announce_file(request: HttpRequest, wanted: FileIn) -> Status[ImportOut]:
    """Announce a file of archived pages: WARC, WACZ, HAR, MHTML, HTML. Send it in pieces then."""
    noting = partial(record_audit, request, "import.uploading", name=wanted.name[:200])
    try:
        job = inspecting.expect_upload(wanted.name, wanted.size, caller_account(request), noting)
    except NotReadableError as problem:
        raise ProblemError(422, str(problem)) from None
    return Status(201, ImportOut.of(job))


@router.get("/{uuid:import_id}", response=ImportOut, auth=Bearer(Action.EDIT))
def get_import(request: HttpRequest, import_id: UUID) -> ImportOut:
    """How much of the file has arrived, and what is in it."""
    return ImportOut.of(_find(request, import_id))


@router.put("/{uuid:import_id}/file", response=ImportOut, auth=Bearer(Action.EDIT))
def send_piece(
    request: HttpRequest,
    import_id: UUID,
    offset: Annotated[int, Query(ge=0, lt=1 << 62, description="Bytes before it")],
) -> ImportOut:
    """Send the bytes from `offset` on, as the body, at most 8,000,000. Go on at `received`, also after a break."""
    job = _find(request, import_id)
    if len(request.body) > PIECE:
        raise ProblemError(413, f"A piece has at most {PIECE:,} bytes.")
    try:
        inspecting.receive(job, offset, request.body)
    except FileNotFoundError:
        raise ProblemError(409, "It was cancelled, or has arrived already.") from None
    except NotReadableError as problem:
        raise ProblemError(422, str(problem)) from None
    return ImportOut.of(_find(request, import_id))


@router.post("/{uuid:import_id}/start", response={202: JobOut}, auth=Bearer(Action.EDIT))
def start_import(request: HttpRequest, import_id: UUID, choices: ChoicesIn) -> Status[JobOut]:
    """Have workers import the pages. Exports of another ArchiveBox are imported by administrators alone."""
    job = _find(request, import_id)
    if inspecting.needs_administrator(job) and not may(caller(request), Action.ADMINISTER):
        raise ProblemError(403, "Only administrators import this: it says whose pages they are.", needs="administer")
    noting = partial(record_audit, request, "import.begun", name=job.memory["name"])
    try:
        chosen = ImportChoices(visibility=choices.visibility or "")
        importing = inspecting.start(job, caller_account(request), chosen, noting)
    except JobRefusedError as problem:
        raise ProblemError(409, str(problem)) from None
    return Status(202, JobOut.all_of([importing])[0])


@router.delete("/{uuid:import_id}", response={204: None}, auth=Bearer(Action.EDIT))
def discard_import(request: HttpRequest, import_id: UUID) -> HttpResponse:
    """Discard the file; nothing is imported. 409 where it is being read, or its import has begun."""
    if not inspecting.discard(_find(request, import_id)):
        raise ProblemError(409, "It is being read, or its import has begun: cancel the job.")
    return HttpResponse(status=204)


def _find(request: HttpRequest, key: UUID) -> Job:
    """Sources on the server are named, and imported, on the page alone: it asks who is there."""
    rows = visible_jobs(caller(request)).filter(kind=Job.Kind.INSPECT, memory__has_key="upload")
    found: Job | None = rows.filter(pk=key).first()
    if found is None:
        raise Http404
    return found
