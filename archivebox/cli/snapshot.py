"""Carries out the commands on pages: list, show, make, change, remove and retry them, check and sign their files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from archivebox.base_models.keylist import key_list
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import Visibility
from archivebox.cli import listing, settings
from archivebox.cli.add import NOTHING_RUNS, PipedInput, accept_given, tags_of
from archivebox.cli.conditions import find_all
from archivebox.cli.crawl import change
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import ListOptions, confirm, record_of, snapshot_records
from archivebox.cli.output import Column, counted
from archivebox.cli.selection import STDIN, find_snapshot, select_snapshots, snapshots
from archivebox.cli.session import REFUSED, Session
from archivebox.cli.watching import Watched, watch
from archivebox.contract.verdicts import judge
from archivebox.core.crawl_control import set_visibility
from archivebox.core.crawl_control.retry import RETRIABLE, lacking_hooks, retry_missing, retry_results
from archivebox.core.evidence.verification import NO_HASHES, DigestCache, list_signature, sign_unsigned, verdict_on
from archivebox.core.models import ArchiveResult, Snapshot, Tag
from archivebox.core.snapshot import SnapshotQuerySet, patched_columns
from archivebox.core.tags.assign_tags import tag as put_tags
from archivebox.core.tags.assign_tags import untag as remove_tags
from archivebox.crawls import control
from archivebox.hooks import outputs_of
from archivebox.lib.batches import batches
from archivebox.lib.quantities import size
from archivebox.search import removal
from archivebox.workers.queue.readiness_check import orchestrator_is_running

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


def list_(session: Session, **choice: Any) -> int:
    wanted = ListOptions.pop_from(choice)
    rows = (
        select_snapshots(session.out, every=False, all_at_terminal=True, **choice).rows
        if STDIN in choice["which"]
        else snapshots(**choice)
    )
    listing.show(session.out, rows, wanted)
    return 0


PAGES_PER_TRANSACTION = 500
CHANGES: Mapping[str, Callable[[Snapshot], bool]] = {
    "queued": control.resume,
    "paused": control.pause,
    "sealed": control.cancel,
    "cancelled": control.cancel,
}


def create(session: Session, *, urls: tuple[str, ...], status: str, tag: tuple[str, ...], **options: Any) -> int:
    piped = PipedInput(session.out, urls)
    accepted = accept_given(session, piped.open, hold=status == "paused", tag=tag, may_be_empty=True, **options)
    of_known = Snapshot.objects.filter(crawl__in=key_list(piped.crawls), retired_at__isnull=True)
    if names := tags_of(tag):
        _each_batch(of_known, lambda keys: put_tags(keys, names))
    made = accepted and accepted.submitted.crawl
    if made:
        piped.crawls.append(made.pk)
    elif not piped.crawls:
        session.out.say("No snapshot was made.")
    _print(session, Snapshot.objects.filter(crawl__in=key_list(piped.crawls), retired_at__isnull=True))
    return 0


def update(
    session: Session,
    *,
    which: tuple[str, ...],
    every: bool,
    tag: tuple[str, ...],
    untag: tuple[str, ...],
    title: str | None,
    visibility: str | None,
    status: str | None,
) -> int:
    """Exit status 2 where one of them is in no state for it."""
    names, gone = _names(tag), _names(untag)
    if not (names or gone or title is not None or visibility or status):
        raise BadInputError("Say what to change: --tag, --untag, --title, --visibility or --status.")
    rows = select_snapshots(session.out, every=every, all_at_terminal=False, which=which, passes=True).rows
    keys = list(rows.order_by("-pk").values_list("pk", flat=True))
    rows = Snapshot.objects.filter(pk__in=key_list(keys))
    _each_batch(rows, lambda batch: _tag(batch, names, gone))
    if title is not None:
        rows.update(**patched_columns({"title": title}))
    if visibility:
        set_visibility.show(rows, Visibility(visibility))
    code = _change_status(session, rows, status) if status else 0
    _print(session, rows)
    return code


def _names(texts: tuple[str, ...]) -> list[str]:
    names = tags_of(texts)
    for name in names:
        if not Tag.slug_of(name):
            raise BadInputError(f"{name!r} is not a tag: a tag needs a letter or a digit.")
    return names


def _tag(keys: Sequence[UUID], names: Sequence[str], gone: Sequence[str]) -> None:
    remove_tags(keys, gone)
    put_tags(keys, names)


def _each_batch(rows: SnapshotQuerySet, change: Callable[[Sequence[UUID]], object]) -> None:
    for keys in batches(list(rows.values_list("pk", flat=True)), PAGES_PER_TRANSACTION):
        with write_transaction():
            change(keys)


def _change_status(session: Session, rows: SnapshotQuerySet, status: str) -> int:
    code = 0
    for snapshot in rows.order_by("pk").iterator():
        if not CHANGES[status](snapshot):
            hint = " `archivebox update` tries again what failed." if status == "queued" else ""
            session.out.warn(f"snapshot {snapshot.pk} is {snapshot.status} and cannot be {status}.{hint}")
            code = REFUSED
    return code


def _print(session: Session, rows: SnapshotQuerySet) -> None:
    for record in snapshot_records(rows, None):
        session.out.event(record, f"{record['status']}  {record['url']}  {', '.join(map(str, record['tags']))}")  # type: ignore[call-overload]  # a list


def remove(session: Session, *, every: bool, yes: bool, dry_run: bool, undo: bool, **choice: Any) -> int:
    """Show what would be done; do it when somebody says yes."""
    rows, by_records = select_snapshots(
        session.out, every=every, all_at_terminal=False, retired=undo, removes=True, **choice
    )
    count = rows.count()
    if count == 0 and by_records:
        session.out.say("None of these exist. Nothing was done.")
        return 0
    if count == 0:
        raise BadInputError("No snapshots match. Nothing was done. `archivebox list` shows all snapshots.")
    verb = "brought back" if undo else "removed"
    if not confirm(session, count, "snapshot", verb, lambda: listing.show(session.out, rows), yes=yes, dry_run=dry_run):
        return 0
    done, problem = (removal.bring_back if undo else removal.remove)(rows)
    if problem:
        session.out.warn(problem)
    record = {"type": "Removal", "snapshots": done, "undo": undo}
    hint = "" if undo else " Their files stay; `archivebox remove --undo` with the same choice brings them back."
    session.out.event(record, f"{counted(done, 'snapshot')} {verb}.{hint}")
    return 0


def delete(session: Session, **choice: Any) -> int:
    """The same as a command of snapshots."""
    return remove(session, undo=False, **choice)


def retry(session: Session, *, every: bool, plugins: str | None, bg: bool, **choice: Any) -> int:
    """Queue it, then wait for it unless told not to."""
    names = settings.plugin_names(plugins)
    chosen = select_snapshots(session.out, every=every, all_at_terminal=True, **choice).rows
    results = ArchiveResult.objects.filter(RETRIABLE, snapshot__in=chosen)
    if names:
        results = results.filter(plugin__in=names)
    incomplete = lacking_hooks(chosen, names)
    crawl_ids = set(results.values_list("snapshot__crawl_id", flat=True))
    crawl_ids |= set(Snapshot.objects.filter(pk__in=incomplete).values_list("crawl_id", flat=True))
    count = retry_results(results)
    for start in range(0, len(incomplete), 500):
        retry_missing(Snapshot.objects.filter(pk__in=incomplete[start : start + 500]))
    record = {"type": "Update", "results": count, "snapshots": len(incomplete), "crawls": len(crawl_ids)}
    session.out.event(
        record,
        f"{counted(count, 'result')} are due now; {counted(len(incomplete), 'page')} lack hooks that were added since.",
    )
    if not crawl_ids:
        return 0
    if bg and not orchestrator_is_running():
        session.out.say(NOTHING_RUNS)
    return 0 if bg else watch(session, Watched(crawl_ids))
