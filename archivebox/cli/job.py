"""Owns `archivebox job`: looking at jobs, and pausing, resuming, cancelling them."""

from collections.abc import Iterator

from archivebox.cli.conditions import find, find_all
from archivebox.cli.crawl import change
from archivebox.cli.listing import ON_A_TERMINAL, pages, record_of
from archivebox.cli.output import Column
from archivebox.cli.session import Session
from archivebox.crawls import control
from archivebox.jobs.models import Job, JobFailure, JobQuerySet

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("added", "created_at"),
    Column("what", "title"),
    Column("status", "status"),
    Column("done", "done", right=True),
    Column("failed", "failed", right=True),
    Column("of", "total", right=True),
    Column("query", "query", wraps=True),
)
FAILURES = (Column("page", "snapshot_id", wraps=True), Column("why", "sentence", wraps=True))
LABELS = {
    "id": "id", "title": "what", "status": "status", "created_at": "added", "ended_at": "ended", "query": "query",
    "options": "options", "total": "pages", "done": "done", "failed": "failed", "problem": "problem", "file": "file",
}  # fmt: skip


def list_(session: Session, *, open: bool, limit: int | None) -> int:  # noqa: A002 - the option's name
    rows = Job.objects.exclude(status__in=["sealed", "cancelled"]) if open else Job.objects.all()
    bound = limit or (ON_A_TERMINAL if session.out.is_for_people else None)
    session.out.table(COLUMNS, job_records(rows, bound), empty="No job matches.")
    return 0


def job_records(rows: JobQuerySet, limit: int | None) -> Iterator[dict[str, object]]:
    for page in pages(rows, limit):
        for job in page:
            yield record_of(job, title=str(job))


def show(session: Session, *, id: str) -> int:  # noqa: A002 - the argument's name
    job = find(Job, id)
    session.out.facts(record_of(job, title=str(job), file=str(job.file or "")), LABELS)
    failures = (record_of(row) for page in pages(JobFailure.objects.filter(job=job)) for row in page)
    session.out.table(FAILURES, failures, empty="")
    return 0


def pause(session: Session, *, ids: tuple[str, ...]) -> int:
    return change(session, find_all(Job, ids), control.pause, "paused")


def resume(session: Session, *, ids: tuple[str, ...]) -> int:
    return change(session, find_all(Job, ids), control.resume, "resumed")


def cancel(session: Session, *, ids: tuple[str, ...]) -> int:
    return change(session, find_all(Job, ids), control.cancel, "cancelled")
