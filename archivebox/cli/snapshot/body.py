"""Owns `archivebox snapshot`: looking at one, and pausing, resuming, cancelling them."""

from dataclasses import asdict

from archivebox.cli.crawl.body import change
from archivebox.cli.output import Column
from archivebox.cli.records import record_of
from archivebox.cli.select import find_snapshot
from archivebox.cli.session import Session
from archivebox.cli.values import find_all
from archivebox.contract.verdicts import judge
from archivebox.core.evidence.verification import NO_HASHES, DigestCache, list_signature, sign_unsigned, verdict_on
from archivebox.core.models import Snapshot
from archivebox.crawls import control
from archivebox.hooks import outputs_of
from archivebox.lib.quantities import size

RESULTS = (
    Column("hook", lambda record: record["hook_name"] or record["plugin"]),
    Column("status", "status"),
    Column("size", lambda record: size(int(str(record["output_size"]))) if record["output_size"] else "", right=True),
    Column("what", lambda record: record["sentence"] or record["output_str"], wraps=True),
    Column("next step", "action", wraps=True),
)
LABELS = {
    "id": "id", "url": "URL", "final_url": "redirected to", "http_status": "HTTP status", "mime_type": "type",
    "quality": "quality", "quality_with_scripts": "with scripts", "measured_at": "measured", "is_lossy": "lossy",
    "title": "title", "status": "status", "reason": "reason", "created_at": "added", "bookmarked_at": "dated",
    "sealed_at": "sealed", "retired_at": "removed", "depth": "depth", "tags": "tags", "retry_at": "next check",
    "crawl_id": "crawl", "folder": "folder", "state": "outcome", "sentence": "reason", "action": "next step",
}  # fmt: skip


def show(session: Session, *, id: str) -> int:  # noqa: A002 - the argument's name
    snapshot = find_snapshot(id)
    tags = [tag.name for tag in snapshot.tags.all()]
    results = snapshot.archiveresult_set.select_related("iface").order_by("hook_name", "plugin")
    came_to = judge(snapshot.status, snapshot.http_status, results, outputs_of)
    said = {"state": came_to.state.value, "sentence": came_to.sentence, "action": came_to.action}
    session.out.facts(record_of(snapshot, tags=tags, folder=str(snapshot.path), **said), LABELS)
    records = (
        record_of(row, sentence=row.sentence, action=row.action, interface=str(row.iface or "")) for row in results
    )
    session.out.table(RESULTS, records, empty="No hook has been looked at yet.")
    return 0


def verify(session: Session, *, ids: tuple[str, ...]) -> int:
    """Say of the files of each and of its signature whether they are as they were kept."""
    digests = DigestCache()
    return max([_verify(session, snapshot, digests) for snapshot in map(find_snapshot, ids)])


def _verify(session: Session, snapshot: Snapshot, digests: DigestCache) -> int:
    verdict = verdict_on(snapshot, digests=digests)
    if verdict is None:
        session.out.warn(f"{snapshot.url}: {NO_HASHES}")
        return 1
    said = verdict.signature.statement if verdict.signature else None
    record = {
        "id": snapshot.pk,
        "url": snapshot.url,
        "is_whole": verdict.is_whole,
        "sentences": verdict.sentences,
        "signature": asdict(said) if said else None,
    }
    session.out.event(record, f"{snapshot.url}: {' '.join(verdict.sentences)}")
    return 0 if verdict.is_whole else 1


def sign(session: Session, *, ids: tuple[str, ...]) -> int:
    code = 0
    for snapshot in find_all(Snapshot, ids):
        if problem := sign_unsigned(snapshot):
            session.out.warn(f"{snapshot.pk}: {problem}")
            code = 1
        else:
            list_signature(snapshot)
            session.out.event(record_of(snapshot), f"{snapshot.pk} is signed.")
    return code


def pause(session: Session, *, ids: tuple[str, ...]) -> int:
    return change(session, find_all(Snapshot, ids), control.pause, "paused")


def resume(session: Session, *, ids: tuple[str, ...]) -> int:
    return change(session, find_all(Snapshot, ids), control.resume, "resumed")


def cancel(session: Session, *, ids: tuple[str, ...]) -> int:
    return change(session, find_all(Snapshot, ids), control.cancel, "cancelled")
