"""Owns `archivebox snapshot create` and `update`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from archivebox.base_models.keylist import key_list
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import Visibility
from archivebox.cli.add.body import accept_given, refuse_early, tags_of
from archivebox.cli.add.piped import PipedInput
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import snapshot_records
from archivebox.cli.selection import select_snapshots
from archivebox.cli.session import Session
from archivebox.core.crawl_control.set_visibility import show
from archivebox.core.models import Snapshot, Tag
from archivebox.core.snapshot import SnapshotQuerySet, patched_columns
from archivebox.core.tags.assign_tags import tag as put_tags
from archivebox.core.tags.assign_tags import untag as remove_tags
from archivebox.crawls import control
from archivebox.lib.batches import batches

__all__ = ["create", "refuse_early", "update"]

REFUSED = 2
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
        show(rows, Visibility(visibility))
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
