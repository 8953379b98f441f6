"""Carries out `archivebox tag`."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count

from archivebox.base_models.transactions import write_transaction
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import TAG
from archivebox.cli.listing import record_of, show_model
from archivebox.cli.output import Column, Record, counted
from archivebox.cli.selection import confirm, select_rows
from archivebox.cli.session import Session
from archivebox.core.models import Snapshot, Tag
from archivebox.core.tags.edit_tags import NameTakenError, merge, rename

COLUMNS = (Column("id", "id", wraps=True), Column("pages", "snapshots", right=True), Column("tag", "name", wraps=True))


def list_(session: Session, **given: Any) -> int:
    rows = Tag.objects.all()
    empty = "No tag matches."
    return show_model(session.out, COLUMNS, rows, TAG, given, records=records_of, sort="name", empty=empty)


def records_of(page: list[Tag]) -> Iterator[Record]:
    """Each with how many pages have it; one query for all."""
    through = Snapshot.tags.through.objects.filter(tag__in=page, snapshot__retired_at__isnull=True)
    counts = dict(through.order_by().values_list("tag_id").annotate(Count("id")))
    return (record_of(tag, snapshots=counts.get(tag.pk, 0)) for tag in page)


def create(session: Session, *, names: tuple[str, ...]) -> int:
    """All of them, or none where one is no name."""
    for name in names:
        if not Tag.slug_of(name):
            raise BadInputError(f"{name!r} is not a tag: a tag needs a letter or a digit. Nothing was done.")
    _print(session, [tag for tag in map(Tag.named, names) if tag is not None])
    return 0


def update(session: Session, *, ids: tuple[str, ...], every: bool, name: str | None, merge: bool) -> int:
    if name is None:
        raise BadInputError("Say what to change: --name gives a tag another name.")
    tags = list(select_rows(session.out, Tag, TAG, every=every, ids=ids).order_by("name"))
    if len(tags) > 1 and not merge:
        raise BadInputError(f"{len(tags):,} tags cannot have one name: --merge makes them one. Nothing was done.")
    _print(session, [_renamed(tags, name, may_merge=merge)] if tags else [])
    return 0


def _renamed(tags: list[Tag], name: str, *, may_merge: bool) -> Tag:
    first, *others = tags
    try:
        with write_transaction():
            merge(others, first)
            rename(first, name)
    except NameTakenError as error:
        if not may_merge:
            raise BadInputError(f"{error} --merge makes them one. Nothing was done.") from None
        merge(tags, error.other)
        return error.other
    except ValueError as error:
        raise BadInputError(f"{error} Nothing was done.") from None
    return first


def delete(
    session: Session, *, ids: tuple[str, ...], where: Mapping[str, str], every: bool, yes: bool, dry_run: bool
) -> int:
    tags = list(select_rows(session.out, Tag, TAG, every=every, ids=ids, where=where).order_by("name"))
    if not tags:
        session.out.say("No tag was chosen. Nothing was done.")
        return 0

    def show() -> None:
        session.out.table(COLUMNS, records_of(tags))

    if confirm(session, len(tags), "tag", "deleted, and taken off all pages", show, yes=yes, dry_run=dry_run):
        for tag in tags:
            tag.delete()
        session.out.event({"type": "Removal", "tags": len(tags)}, f"{counted(len(tags), 'tag')} deleted.")
    return 0


def _print(session: Session, tags: list[Tag]) -> None:
    for record in records_of(tags):
        session.out.event(record, f"{record['name']} is on {counted(int(str(record['snapshots'])), 'page')}.")
