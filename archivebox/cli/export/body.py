"""Owns `archivebox export`."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from archivebox.base_models.keylist import key_list
from archivebox.base_models.users import system_user
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import counted
from archivebox.cli.records import record_of
from archivebox.cli.select import of_query, pointed_at
from archivebox.cli.selection import read_keys_from_stdin, reads_stdin
from archivebox.cli.session import Session
from archivebox.cli.stdin import STDIN
from archivebox.cli.waiting import wait_for_job
from archivebox.core.models import Snapshot
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.models import Job, JobFailure
from archivebox.lib.jsonl import JSON
from archivebox.lib.quantities import size
from archivebox.search.query import QueryError

FAILURES_SHOWN = 20
NOTHING_WRITTEN = 1
STDOUT = "-"


def run(
    session: Session,
    *,
    terms: tuple[str, ...],
    every: bool,
    format: str,  # noqa: A002 - the option's name
    output: str | None,
    bg: bool,
) -> int:
    """Have workers write it, and wait for that unless told not to."""
    if output:
        _refuse(output, bg=bg)
    query = " ".join(text for text in terms if text != STDIN)
    options: dict[str, JSON] = {"format": format}
    wanted = JobRequest(Job.Kind.EXPORT, created_by=system_user(), query=query, options=options)
    if reads_stdin(every=every, dash=STDIN in terms, chosen=bool(query), all_at_terminal=True):
        keys = _keys_of_records(session, query)
        if not keys:
            session.out.warn("No file was written: no page matches.")
            return NOTHING_WRITTEN
        wanted = replace(wanted, query=None, snapshots=keys, most=len(keys))
    try:
        job = begin(wanted)
    except QueryError as error:
        raise BadInputError(pointed_at(query, error)) from None
    if bg:
        session.out.event(record_of(job), f"Queued as job {job.pk}: `archivebox job show {job.pk}` says how far it is.")
        return 0
    code = wait_for_job(session, job)
    return code or _hand_out(session, job, output)


def _keys_of_records(session: Session, query: str) -> list[UUID]:
    """The pages that records on stdin name, the newest first; with a query those of them that it means."""
    rows = Snapshot.objects.kept().filter(pk__in=key_list(read_keys_from_stdin(session.out)))
    if query:
        rows = of_query(query, among=rows)
    return list(rows.order_by("-pk").values_list("pk", flat=True))


def _refuse(output: str, *, bg: bool) -> None:
    """BadInputError, before anything is done, where the file could not be put there."""
    if bg:
        raise BadInputError("--output waits for the file: leave out --bg.")
    if output == STDOUT:
        return
    if Path(output).exists():
        raise BadInputError(f"{output} is there already.")
    if not os.access(Path(output).parent, os.W_OK):
        raise BadInputError(f"{Path(output).parent} is not a folder that you can write to.")


def _hand_out(session: Session, job: Job, output: str | None) -> int:
    """Say where the file is, and which pages are not in it."""
    job.refresh_from_db()
    _tell_failures(session, job)
    if job.file is None:
        session.out.warn(job.problem or f"No file was written: {_why_nothing(job)}")
        return NOTHING_WRITTEN
    if output == STDOUT:
        _print_file(job.file)
        return 0
    path = Path(shutil.move(job.file, output)) if output else job.file
    sentence = f"{counted(job.done, 'page')} in {path}, {size(path.stat().st_size)}."
    more = f" Not whole: {counted(job.failed, 'page')}." if job.failed else ""
    session.out.event(record_of(job, file=str(path), size=path.stat().st_size), sentence + more)
    return 0


def _print_file(path: Path) -> None:
    with path.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()
    path.unlink()


def _tell_failures(session: Session, job: Job) -> None:
    """A line for each page that is not in it, of many for the first."""
    failures = list(JobFailure.objects.filter(job=job).order_by("pk")[:FAILURES_SHOWN])
    urls = dict(Snapshot.objects.filter(pk__in=[one.snapshot_id for one in failures]).values_list("pk", "url"))
    for one in failures:
        session.out.warn(f"{urls.get(one.snapshot_id, one.snapshot_id)}: {one.sentence}")
    if job.failed > len(failures):
        session.out.warn(f"And {job.failed - len(failures):,} more: `archivebox job show {job.pk}` lists them.")


def _why_nothing(job: Job) -> str:
    return "none of the pages has anything for it." if job.total else "no page matches."
