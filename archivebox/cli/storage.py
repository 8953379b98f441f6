"""Owns `archivebox storage`."""

from archivebox.cli.errors import BadInputError
from archivebox.cli.output import counted
from archivebox.cli.session import OUR_ERROR, Session
from archivebox.config.page_storage import has_store, store_at
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.page_storage.maintenance import (
    MoveReport,
    StoreGarbage,
    check_store,
    collect_unknown,
    collect_unused,
    collect_uploads,
    copy_objects,
    fetch_all,
    store_all,
)
from archivebox.lib.quantities import size
from archivebox.storage.shared_files import StorageReport, collect_garbage, share_all_bodies

DISK = "disk"
NO_STORE = "There is no object store: set STORAGE_URL."


def collect(session: Session) -> int:
    code = _tell(session, collect_garbage(DATA_FOLDER.users), "deleted")
    if has_store():
        _collect_objects(session)
    return code


def dedupe(session: Session) -> int:
    """Status 1 if some could not be linked."""
    report = share_all_bodies(DATA_FOLDER.users)
    if report.failed:
        session.out.warn(f"{counted(report.failed, 'file')} could not be linked: `archivebox doctor` says why.")
    return _tell(session, report, "linked")


def verify(session: Session, *, digests: bool) -> int:
    """Status 1 if an object is not as it was stored."""
    _require_store()
    verdict = check_store(digests=digests)
    for problem in verdict.problems:
        session.out.warn(problem)
    record = {"type": "StoreVerdict", "same": verdict.same, "bytes": verdict.bytes, "problems": verdict.problems}
    sentence = f"{counted(verdict.same, 'object')} as stored ({size(verdict.bytes)}), {len(verdict.problems)} not."
    session.out.event(record, sentence)
    return OUR_ERROR if verdict.problems else 0


def move(session: Session, *, to: str) -> int:
    """Status 1 if something could not be copied."""
    _require_store()
    report = MoveReport()
    if not to:
        store_all(report)
    elif to == DISK:
        fetch_all(report)
    else:
        copy_objects(store_at(to), report)
    for problem in report.failed:
        session.out.warn(problem)
    counts = {"copied": report.copied, "bytes": report.bytes, "known": report.known, "elsewhere": report.elsewhere}
    copied = counted(report.copied, "page" if to in {"", DISK} else "object")
    elsewhere = f" {counted(report.elsewhere, 'page')} not in this data folder." if report.elsewhere else ""
    session.out.event(
        {"type": "MoveReport", **counts, "failed": report.failed},
        f"{copied} copied ({size(report.bytes)}), {report.known} there before, {len(report.failed)} failed.{elsewhere}",
    )
    return OUR_ERROR if report.failed else 0


def _collect_objects(session: Session) -> None:
    report = StoreGarbage()
    while collect_unused(report):
        continue
    collect_uploads(report)
    collect_unknown(report)
    counts = {"objects": report.objects, "uploads": report.uploads, "unknown": report.unknown, "bytes": report.bytes}
    deleted = counted(report.objects + report.uploads + report.unknown, "object")
    sentence = f"{deleted} deleted from the object store, {size(report.bytes)} freed."
    session.out.event({"type": "StoreGarbage", **counts}, sentence)


def _require_store() -> None:
    if not has_store():
        raise BadInputError(NO_STORE)


def _tell(session: Session, report: StorageReport, done: str) -> int:
    record = {"type": "StorageReport", "files": report.files, "bytes": report.bytes, "failed": report.failed}
    session.out.event(record, f"{counted(report.files, 'file')} {done}, {size(report.bytes)} freed.")
    return OUR_ERROR if report.failed else 0
