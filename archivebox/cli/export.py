"""Owns `archivebox export`."""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from archivebox.base_models.keylist import key_list
from archivebox.base_models.users import system_user
from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import record_of
from archivebox.cli.output import counted
from archivebox.cli.selection import STDIN, of_query, pointed_at, read_keys_from_stdin, reads_stdin
from archivebox.cli.session import Session
from archivebox.cli.watching import wait_for_job
from archivebox.core.models import Snapshot
from archivebox.export.formats import FORMATS
from archivebox.export.pages import pages_of
from archivebox.jobs.actions import Export
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.models import Job, JobFailure
from archivebox.lib.batches import batches
from archivebox.lib.jsonl import JSON
from archivebox.lib.quantities import size
from archivebox.search.query import QueryError, chosen

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
        if session.process is None:
            return _write_here(session, wanted, output)
        job = begin(wanted)
    except QueryError as error:
        raise BadInputError(pointed_at(query, error)) from None
    if bg:
        session.out.event(record_of(job), f"Queued as job {job.pk}: `archivebox job show {job.pk}` says how far it is.")
        return 0
    code = wait_for_job(session, job)
    return code or _hand_out(session, job, output)


def _write_here(session: Session, wanted: JobRequest, output: str | None) -> int:
    """Write it in this process: no job can be put on record in a collection that can only be read."""
    if output is None:
        raise BadInputError(f"{session.folder.root} can only be read: name a file in another place with --output.")
    keys = list(wanted.snapshots)
    if wanted.query is not None:
        rows = chosen(wanted.query, EVERYTHING, among=Snapshot.objects.kept(), every=True).rows
        keys = list(rows.order_by("-pk").values_list("pk", flat=True))
    failures, has_pages = dict[UUID, str](), False
    with TemporaryDirectory(prefix=".export-", dir=None if output == STDOUT else Path(output).parent) as folder:
        path = Path(folder, "export")
        writer = FORMATS[str(wanted.options["format"])].writer(path)
        for part in batches(keys, Export.batch):
            found, has_written = writer.add(pages_of(Snapshot.objects.filter(pk__in=part), EVERYTHING))
            failures, has_pages = failures | found, has_pages or has_written
        if has_pages:
            writer.finish()
        writer.close()
        _warn_of(session, failures)
        if not has_pages:
            session.out.warn(f"No file was written: {_why_nothing(len(keys))}")
            return NOTHING_WRITTEN
        done = len(keys) - len(failures)
        return _deliver(session, path, output, {"type": "Export", "done": done, "failed": len(failures)})


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
    failures = JobFailure.objects.filter(job=job).order_by("pk")[:FAILURES_SHOWN]
    _warn_of(session, {one.snapshot_id: one.sentence for one in failures})
    if job.failed > FAILURES_SHOWN:
        session.out.warn(f"And {job.failed - FAILURES_SHOWN:,} more: `archivebox job show {job.pk}` lists them.")
    if job.file is None:
        session.out.warn(job.problem or f"No file was written: {_why_nothing(job.total)}")
        return NOTHING_WRITTEN
    return _deliver(session, job.file, output, record_of(job))


def _deliver(session: Session, file: Path, output: str | None, record: dict[str, object]) -> int:
    """Put the file where it was wanted, and say so."""
    if output == STDOUT:
        with file.open("rb") as content:
            shutil.copyfileobj(content, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        file.unlink()
        return 0
    path = Path(shutil.move(file, output)) if output else file
    sentence = f"{counted(int(str(record['done'])), 'page')} in {path}, {size(path.stat().st_size)}."
    more = f" Not whole: {counted(int(str(record['failed'])), 'page')}." if record["failed"] else ""
    session.out.event({**record, "file": str(path), "size": path.stat().st_size}, sentence + more)
    return 0


def _warn_of(session: Session, failures: Mapping[UUID, str]) -> None:
    """A line for each page that is not in it, or not whole."""
    urls = dict(Snapshot.objects.filter(pk__in=list(failures)).values_list("pk", "url"))
    for key, sentence in failures.items():
        session.out.warn(f"{urls.get(key, key)}: {sentence}")


def _why_nothing(total: int | None) -> str:
    return "none of the pages has anything for it." if total else "no page matches."
