"""Owns `archivebox storage`."""

from archivebox.cli.output import counted
from archivebox.cli.session import OUR_ERROR, Session
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.quantities import size
from archivebox.storage.sharing_upkeep import StorageReport, collect_garbage, link_copies


def collect(session: Session) -> int:
    report = collect_garbage(DATA_FOLDER.users)
    return _tell(session, report, "deleted")


def dedupe(session: Session) -> int:
    """Status 1 if some could not be linked."""
    report = link_copies(DATA_FOLDER.users)
    if report.failed:
        session.out.warn(f"{counted(report.failed, 'file')} could not be linked: `archivebox doctor` says why.")
    return _tell(session, report, "linked")


def _tell(session: Session, report: StorageReport, done: str) -> int:
    record = {"type": "StorageReport", "files": report.files, "bytes": report.bytes, "failed": report.failed}
    session.out.event(record, f"{counted(report.files, 'file')} {done}, {size(report.bytes)} freed.")
    return OUR_ERROR if report.failed else 0
