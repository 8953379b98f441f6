"""Jobs: what is done to many Snapshots, by workers, with progress that survives a restart."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from archivebox.accounts.permission import may, viewer_scope
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.routes.snapshots import Question
from archivebox.api.shapes.archive import RequestBody
from archivebox.base_models.transactions import write_transaction
from archivebox.crawls import control
from archivebox.export import TITLES
from archivebox.jobs.at_once import do
from archivebox.jobs.begin import MOST_KEYS, JobRefusedError, JobRequest
from archivebox.jobs.models import Job
from archivebox.jobs.permission import visible_jobs


class JobOut(Schema):
    """Something that is done to many Snapshots."""

    id: UUID
    kind: str
    status: str
    query: str
    options: dict[str, Any]
    total: Annotated[int | None, Field(description="Snapshots; null until all are known")]
    done: int
    failed: int
    problem: str
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def all_of(cls, rows: Sequence[Job]) -> "list[JobOut]":
        return [cls(**{name: getattr(row, name) for name in cls.model_fields}) for row in rows]


router = Router(tags=["jobs"])
Kind = Literal[
    "tag", "untag", "retry", "recapture", "remove", "restore", "export", "verify", "sign", "compare", "visibility",
    "purge",
]  # fmt: skip
Change = Literal["pause", "resume", "cancel"]
STEERED = {"pause": control.pause, "resume": control.resume, "cancel": control.cancel}
_OF_OPTIONS = f"Such as `tags` of the kind `tag`, or `format` of `export`: {', '.join(TITLES)}"


class JobIn(RequestBody):
    """What to do, and to which Snapshots: to those of `snapshots`, or to all that `query` means."""

    kind: Kind
    query: Question | None = None
    snapshots: Annotated[list[UUID], Field(max_length=MOST_KEYS)] = []
    options: Annotated[dict[str, Any], Field(max_length=20, description=_OF_OPTIONS)] = {}


@router.get("", response=Page[JobOut], auth=Bearer(Action.READ))
def list_jobs(request: HttpRequest, window: Query[Window]) -> Page[JobOut]:
    """Your jobs, the newest first; those of all to an administrator."""
    return page_of(visible_jobs(caller(request)), window, JobOut.all_of)


@router.post("", response={200: JobOut, 202: JobOut}, auth=Bearer(Action.EDIT))
def begin_job(request: HttpRequest, wanted: JobIn) -> Status[JobOut]:
    """Do it: at once to a few (200), else workers do (202). Deleting files for good (`purge`) is for administrators."""
    if wanted.kind == "purge" and not may(caller(request), Action.ADMINISTER):
        raise ProblemError(403, "Only administrators can delete files permanently.", needs="administer")
    asked = JobRequest(
        wanted.kind,
        created_by=caller_account(request),
        options=wanted.options,
        query=wanted.query,
        snapshots=wanted.snapshots,
        scope=viewer_scope(caller(request)),
    )
    detail = {"query": wanted.query, "snapshots": len(wanted.snapshots)}
    try:
        job = do(asked, noting=lambda job: record_audit(request, f"job.{job.kind}", job, **detail))
    except JobRefusedError as error:
        raise ProblemError(422, str(error)) from None
    return Status(202 if job.status in Job.OPEN else 200, JobOut.all_of([job])[0])


@router.get("/{uuid:job_id}", response=JobOut, auth=Bearer(Action.READ))
def get_job(request: HttpRequest, job_id: UUID) -> JobOut:
    """One job, and how far it is."""
    return JobOut.all_of([_find(request, job_id)])[0]


@router.post("/{uuid:job_id}/{change}", response=JobOut, auth=Bearer(Action.EDIT))
def steer_job(request: HttpRequest, job_id: UUID, change: Change) -> JobOut:
    """Pause, resume or cancel it; what is done stays done."""
    job = _find(request, job_id)
    with write_transaction():
        if not STEERED[change](job):
            raise ProblemError(409, f"It is {job.status}: it cannot {change}.")
        record_audit(request, f"job.{change}", job)
    return JobOut.all_of([_find(request, job_id)])[0]


def _find(request: HttpRequest, key: UUID) -> Job:
    found: Job | None = visible_jobs(caller(request)).filter(pk=key).first()
    if found is None:
        raise Http404
    return found
