"""Owns `archivebox import`: what a source holds is shown, and a job imports it."""

from dataclasses import asdict
from pathlib import Path

from archivebox.base_models.users import system_user
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import record_of
from archivebox.cli.output import counted
from archivebox.cli.session import Session
from archivebox.cli.watching import wait_for_job
from archivebox.imports.import_folder import LeftOutList
from archivebox.imports.page import NotImported, NotReadableError, SourceReport
from archivebox.imports.page_files import Transfer
from archivebox.imports.readers import open_reader
from archivebox.jobs.begin import JobRefusedError
from archivebox.jobs.inspecting import begin_import, unfinished_import
from archivebox.jobs.models import Job
from archivebox.lib.quantities import size

ITEMS_SHOWN = 20
NOT_EVERYTHING = 1
"""Exit status of an import that ended before all was done, or could not keep some of the pages."""
NOTHING_IMPORTED = "Nothing was imported."
VERBS = {Transfer.COPY: "copied", Transfer.LINK: "linked", Transfer.MOVE: "moved"}


def run(
    session: Session,
    *,
    path: str,
    mode: str,
    visibility: str | None,
    whole: bool,
    dry_run: bool,
    yes: bool,
    bg: bool,
) -> int:
    """Show what would be imported; import it when somebody says yes."""
    source, transfer = Path(path).expanduser().resolve(), Transfer(mode)
    session.if_stopped = NOTHING_IMPORTED
    try:
        report = open_reader(source).report()
    except NotReadableError as problem:
        raise BadInputError(str(problem)) from None
    _show(session, source, report)
    unfinished = None if dry_run else unfinished_import(source, report)
    if unfinished is not None:
        return _continue(session, unfinished, bg=bg)
    more = ", with accounts, schedules and settings" if whole else ""
    question = f"{counted(report.pages, 'page')} will be imported{more}, their files {VERBS[transfer]}. Continue?"
    if dry_run or not (yes or session.out.ask(question)):
        session.out.say(NOTHING_IMPORTED if dry_run else f"{NOTHING_IMPORTED} --yes imports it.")
        return 0
    session.if_stopped = ""
    try:
        job = begin_import(
            source, report, system_user(), transfer=transfer, visibility=visibility or "", pages_only=not whole
        )
    except JobRefusedError as problem:
        raise BadInputError(str(problem)) from None
    return _wait(session, job, bg=bg)


def _continue(session: Session, job: Job, *, bg: bool) -> int:
    """Go on with an import that has begun before, and was interrupted or is at work."""
    if job.status == Job.StatusChoices.PAUSED:
        raise BadInputError(f"Its import is paused: `archivebox job resume {job.pk}` continues it.")
    session.if_stopped = ""
    session.out.say(f"Its import was begun before, with --mode {job.options['transfer']}: it goes on.")
    return _wait(session, job, bg=bg)


def _wait(session: Session, job: Job, *, bg: bool) -> int:
    if bg:
        session.out.event(record_of(job), f"Queued as job {job.pk}: `archivebox job show {job.pk}` says how far it is.")
        return 0
    return wait_for_job(session, job) or _tell_end(session, job)


def _show(session: Session, source: Path, report: SourceReport) -> None:
    """What is there, and what of it is not imported."""
    files = f"{counted(report.pages, 'page')}, {counted(report.files, 'file')}, {size(report.size)}"
    session.out.event(
        {"type": "Source", "path": str(source), **asdict(report)},
        f"{report.kind} in {source}: {files}.",
        *report.notes,
    )
    if session.out.is_for_people:
        _list(session, report.not_imported[:ITEMS_SHOWN], len(report.not_imported))


def _list(session: Session, items: "list[NotImported] | tuple[NotImported, ...]", count: int) -> None:
    if items:
        session.out.say(f"Not imported: {counted(count, 'item')}.")
    for one in items:
        session.out.say(f"  {one.item}: {one.reason}")
    if count > len(items):
        session.out.say(f"  and {count - len(items):,} more")


def _tell_end(session: Session, job: Job) -> int:
    """What was imported, what was not, and where the list of that is."""
    job.refresh_from_db()
    counts, rest = job.memory["counts"], LeftOutList(job.pk)
    known = f" {counted(counts['known'], 'page')} imported before." if counts["known"] else ""
    done = (
        f"{counted(counts['imported'], 'page')} imported, {counted(counts['files'], 'file')}, {size(counts['size'])}."
    )
    session.out.event(record_of(job, not_imported=str(rest.path)), f"{done}{known}")
    if counts["left_out"]:
        _list(session, rest.first(ITEMS_SHOWN), counts["left_out"])
        session.out.say(f"The whole list is {rest.path}.")
    for sentence in filter(None, (job.problem, job.memory["note"])):
        session.out.warn(sentence)
    return NOT_EVERYTHING if job.problem or job.failed else 0
