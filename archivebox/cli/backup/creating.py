"""Owns `archivebox backup DEST`."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict

from archivebox.backup.generations import Destination, DestinationError
from archivebox.backup.making import BackupOptions, make_backup
from archivebox.backup.manifest import BackupSummary
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import DISK_FULL, Output, counted
from archivebox.cli.session import OUR_ERROR, Session
from archivebox.config.collection import refuse_lost_database
from archivebox.config.database_copy import DatabaseCopyError
from archivebox.lib.quantities import size

NAMES_SHOWN = 10
REDRAW = 0.2
"""Seconds between two states of a progress line."""


def run(session: Session, *, destination: str, reread: bool, also: tuple[str, ...]) -> int:
    """Status 1 if it was not made, or lacks files that could not be read; 2 if it cannot be made there."""
    refuse_lost_database(session.folder)
    target = Destination.at(destination)
    try:
        with session.out.live() as draw:
            options = BackupOptions(frozenset(also), reread, _progress(draw))
            summary = make_backup(session.folder, target, options)
    except DestinationError as problem:
        raise BadInputError(str(problem)) from None
    except DatabaseCopyError as problem:
        session.out.warn(f"No backup was made: {problem}")
        return OUR_ERROR
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        session.out.warn(
            f"No backup was made: the disk of {target.folder} is full. Earlier backups are complete. Free some space "
            "or delete old ones with `archivebox backup prune`; the next backup reuses what was copied."
        )
        return OUR_ERROR
    return _report(session.out, summary, target)


def _progress(draw: Callable[[Sequence[str]], None]) -> Callable[[BackupSummary], None]:
    drawn = 0.0

    def show(summary: BackupSummary) -> None:
        nonlocal drawn
        if time.monotonic() - drawn > REDRAW:
            drawn = time.monotonic()
            draw([f"{counted(summary.files, 'file')}, {size(summary.copied_bytes)} copied"])

    return show


def _report(out: Output, summary: BackupSummary, target: Destination) -> int:
    folder = target.folder / summary.generation
    sentence = (
        f"{counted(summary.files, 'file')} ({size(summary.bytes)}) in {folder}; "
        f"{counted(summary.copied_files, 'file')} ({size(summary.copied_bytes)}) are new, the others linked."
    )
    out.event({"type": "Backup", "folder": str(folder), **asdict(summary)}, sentence)
    for path in summary.unread[:NAMES_SHOWN]:
        out.warn(f"Not in it, as it cannot be read: {path}")
    for path in summary.outside[:NAMES_SHOWN]:
        out.warn(f"Not in it, as it is a link to another place: {path}. Back that place up, too.")
    if summary.changed_meanwhile:
        out.warn(
            f"{counted(len(summary.changed_meanwhile), 'archived page')} changed while the backup was made, and may be "
            "in it with some older and some newer files. The next backup will be consistent."
        )
    return OUR_ERROR if summary.unread else 0
