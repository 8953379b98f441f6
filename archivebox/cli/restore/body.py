"""Owns `archivebox restore`."""

from dataclasses import asdict

from archivebox.backup.generations import Destination, DestinationError, Generation
from archivebox.backup.manifest import ManifestError
from archivebox.backup.restore_claim import RestoreError
from archivebox.backup.restoring import RestoreReport, restore
from archivebox.cli.backup.body import progress
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import DISK_FULL, counted
from archivebox.cli.session import OUR_ERROR, Session
from archivebox.config.database_copy import DatabaseCopyError
from archivebox.lib.quantities import size


def run(session: Session, *, destination: str, generation: str | None) -> int:
    """Status 1 if files are damaged or missing; 2 if it cannot be restored there."""
    root = session.folder.root
    try:
        found = Destination.at(destination).find(generation)
        with session.out.live() as draw:
            report = restore(found, session.folder, lambda at, whole: draw([progress(at.files, at.bytes, whole)]))
    except (DestinationError, RestoreError, ManifestError) as problem:
        raise BadInputError(str(problem)) from None
    except DatabaseCopyError as problem:
        session.out.warn(f"The database was not restored: {problem} Then repeat the command: it continues.")
        return OUR_ERROR
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        session.out.warn(
            f"Not restored: the disk of {root} is full. Free some space, and repeat the command: it continues."
        )
        return OUR_ERROR
    _tell(session, found, report)
    return 0 if report.is_whole else OUR_ERROR


def _tell(session: Session, generation: Generation, report: RestoreReport) -> None:
    root = session.folder.root
    record = {
        "type": "Restored",
        "folder": str(root),
        "generation": generation.name,
        "is_whole": report.is_whole,
        **asdict(report),
    }
    sentence = f"{counted(report.files, 'file')} ({size(report.bytes)}) of {generation.name} restored in {root}."
    session.out.event(record, f"{sentence} `archivebox --data-dir {root} status` shows its state.")
    for paths, what in ((report.damaged, "Damaged in the backup"), (report.missing, "Missing in the backup")):
        session.out.warn_each(what, paths)
