"""Owns `archivebox backup` and `archivebox restore`; but for making one, they need no collection: it may be lost."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from archivebox.backup import restore as restoring
from archivebox.backup.destination import Destination, DestinationError
from archivebox.backup.manifest import BackupSummary, ManifestError, read_summary
from archivebox.backup.restore import BackupVerdict, RestoreError
from archivebox.cli.errors import BadInputError, FailedError
from archivebox.cli.output import DISK_FULL, Column, counted
from archivebox.cli.session import OUR_ERROR, Session
from archivebox.config.collection import refuse_lost_database
from archivebox.config.database_copy import DatabaseCopyError
from archivebox.lib.quantities import size

DAMAGED = 3
"""Exit status of a backup that was made of pages that are not whole."""
REDRAW = 0.2
"""Seconds between two states of a progress line."""
COLUMNS = (
    Column("backup", "backup"),
    Column("files", "files", right=True),
    Column("size", lambda record: size(int(str(record["bytes"]))), right=True),
    Column("new", lambda record: size(int(str(record["copied_bytes"]))), right=True),
    Column("database", "database"),
    Column("version", "version"),
    Column("problem", "problem", wraps=True),
)


def create(session: Session, *, destination: str, reread: bool, also: tuple[str, ...]) -> int:
    """Status 1 if it was not made, or lacks files that could not be read; 2 if it cannot be made there; 3: DAMAGED."""
    from archivebox.backup.make import make_backup  # it needs Django, and the other commands do not

    refuse_lost_database(session.folder)
    target, out = Destination.at(destination), session.out
    with _explained(target.folder), _progress(session) as draw:
        summary = make_backup(
            session.folder, target, also=also, reread=reread,
            on_progress=lambda at: draw(f"{counted(at.files, 'file')}, {size(at.copied_bytes)} copied"),
        )  # fmt: skip
    folder = target.folder / summary.backup
    sentence = (
        f"{counted(summary.files, 'file')} ({size(summary.bytes)}) in {folder}; "
        f"{counted(summary.copied_files, 'file')} ({size(summary.copied_bytes)}) are copies, the others linked."
    )
    out.event({"type": "Backup", "folder": str(folder), **asdict(summary)}, sentence)
    out.warn_each("Not in it, as it cannot be read", summary.unread)
    out.warn_each("Missing or changed since its page was archived (`archivebox snapshot verify`)", summary.damaged)
    out.warn_each("Not in it, as it is a link to another place; back that place up, too", summary.outside)
    if summary.changed_meanwhile:
        out.warn(
            f"{counted(len(summary.changed_meanwhile), 'archived page')} changed while the backup was made, and may be "
            "in it with some older and some newer files. The next backup will be consistent."
        )
    return OUR_ERROR if summary.unread else DAMAGED if summary.damaged else 0


def list_(session: Session, *, destination: str) -> int:
    target = Destination.at(destination)
    with _explained():
        records = [_record_of(backup) for backup in target.backups()]
        interrupted = target.incomplete()
    session.out.table(COLUMNS, records, empty=f"There is no complete backup in {target.folder}.")
    if interrupted:
        session.out.say(f"{counted(len(interrupted), 'interrupted backup')}: the next one continues it.")
    return 0


def _record_of(backup: Path) -> dict[str, object]:
    try:
        summary, problem = read_summary(backup), ""
    except ManifestError as error:
        summary, problem = BackupSummary(backup=backup.name), str(error)
    return {"type": "Backup", "folder": str(backup), **asdict(summary), "problem": problem}


def verify(session: Session, *, destination: str, backup: str | None) -> int:
    """Status 1 if anything differs."""
    with _explained(), _progress(session) as draw:
        found = Destination.at(destination).find(backup)
        verdict = restoring.verify(found, lambda at, whole: draw(_share(at, whole)))
    record = {"type": "BackupVerdict", "backup": found.name, "is_whole": verdict.is_whole, **asdict(verdict)}
    sentence = f"{counted(verdict.files, 'file')} ({size(verdict.bytes)}) of {found.name} are as they were backed up."
    session.out.event(record, *([sentence] if verdict.is_whole else []))
    for paths, what in ((verdict.changed, "Changed"), (verdict.missing, "Missing"), (verdict.added, "Not ours")):
        session.out.warn_each(what, [found / path for path in paths])
    if verdict.changed or verdict.missing:
        session.out.warn("`archivebox backup DEST --verify` makes a new backup with fresh copies of these files.")
    return 0 if verdict.is_whole else OUR_ERROR


def prune(session: Session, *, destination: str, dry_run: bool, **counts: int | None) -> int:
    rules = {name: count for name, count in counts.items() if count is not None}
    if not rules:
        raise BadInputError(
            "Say what is kept: --keep-last, --keep-daily, --keep-weekly, --keep-monthly, --keep-yearly."
        )
    target = Destination.at(destination)
    with _explained():
        names = [backup.name for backup in target.prune(rules, dry_run=dry_run)]
        kept = len(target.backups()) - (len(names) if dry_run else 0)
    sentence = f"{counted(len(names), 'backup')} {'would be deleted' if dry_run else 'deleted'}, {kept:,} kept."
    session.out.event({"type": "Pruning", "deleted": names, "kept": kept, "dry_run": dry_run}, *names, sentence)
    return 0


def restore(session: Session, *, destination: str, backup: str | None) -> int:
    """Status 1 if files are damaged or missing; 2 if it cannot be restored there."""
    root, out = session.folder.root, session.out
    with _explained(root), _progress(session) as draw:
        found = Destination.at(destination).find(backup)
        verdict = restoring.restore(found, session.folder, lambda at, whole: draw(_share(at, whole)))
    facts = {"type": "Restored", "folder": str(root), "backup": found.name, "is_whole": verdict.is_whole}
    sentence = f"{counted(verdict.files, 'file')} ({size(verdict.bytes)}) of {found.name} restored in {root}."
    out.event({**facts, **asdict(verdict)}, f"{sentence} `archivebox --data-dir {root} status` shows its state.")
    out.warn_each("Damaged in the backup", verdict.changed)
    out.warn_each("Missing in the backup", verdict.missing)
    return 0 if verdict.is_whole else OUR_ERROR


@contextmanager
def _explained(written: Path = Path()) -> Iterator[None]:
    """Have failures that people can mend say so; ``written``: the folder whose disk may be full."""
    try:
        yield
    except (DestinationError, RestoreError) as problem:
        raise BadInputError(str(problem)) from None
    except (DatabaseCopyError, ManifestError) as problem:
        raise FailedError(str(problem)) from None
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        hint = "Free some space, such as by `archivebox backup prune`, and repeat the command: it continues."
        raise FailedError(f"The disk of {written} is full. {hint}") from None


@contextmanager
def _progress(session: Session) -> Iterator[Callable[[str], None]]:
    """A line that is drawn again, seldom enough to cost nothing."""
    drawn = 0.0
    with session.out.live() as draw:

        def show(line: str) -> None:
            nonlocal drawn
            if time.monotonic() - drawn > REDRAW:
                drawn = time.monotonic()
                draw([line])

        yield show


def _share(at: BackupVerdict, whole: BackupSummary) -> str:
    return f"{at.files:,} of {counted(whole.files, 'file')}, {size(at.bytes)} of {size(whole.bytes)}"
