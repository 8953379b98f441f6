"""Carries out `archivebox tag`."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count

from archivebox.base_models.transactions import write_transaction
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import TAG
from archivebox.cli.listing import RowTable, delete_rows, list_rows, print_changed, record_of
from archivebox.cli.output import Column, Record, counted
from archivebox.cli.selection import select_rows
from archivebox.cli.session import Session
from archivebox.core.models import Snapshot, Tag
from archivebox.core.tags.edit_tags import NameTakenError, merge, rename


def records_of(page: list[Tag]) -> Iterator[Record]:
    """Each with how many pages have it; one query for all."""
    through = Snapshot.tags.through.objects.filter(tag__in=page, snapshot__retired_at__isnull=True)
    counts = dict(through.order_by().values_list("tag_id").annotate(Count("id")))
    return (record_of(tag, snapshots=counts.get(tag.pk, 0)) for tag in page)


TAGS = RowTable(
    "tag",
    TAG,
    (Column("id", "id", wraps=True), Column("pages", "snapshots", right=True), Column("tag", "name", wraps=True)),
    records_of,
    empty="No tag matches.",
    sort="name",
    line=lambda record: f"{record['name']} is on {counted(int(str(record['snapshots'])), 'page')}.",
)


def list_(session: Session, **given: Any) -> int:
    return list_rows(session.out, TAGS, Tag.objects.all(), given)


def create(session: Session, *, names: tuple[str, ...]) -> int:
    """All of them, or none where one is no name."""
    for name in names:
        if not Tag.slug_of(name):
            raise BadInputError(f"{name!r} is not a tag: a tag needs a letter or a digit. Nothing was done.")
    print_changed(session.out, TAGS, [tag for tag in map(Tag.named, names) if tag is not None])
    return 0


def update(session: Session, *, ids: tuple[str, ...], every: bool, name: str | None, merge: bool) -> int:
    if name is None:
        raise BadInputError("Say what to change: --name gives a tag another name.")
    tags = list(select_rows(session.out, Tag, TAG, every=every, ids=ids).order_by("name"))
    if len(tags) > 1 and not merge:
        raise BadInputError(f"{len(tags):,} tags cannot have one name: --merge makes them one. Nothing was done.")
    print_changed(session.out, TAGS, [_renamed(tags, name, may_merge=merge)] if tags else [])
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

    def act() -> tuple[Record, str]:
        for tag in tags:
            tag.delete()
        return {"tags": len(tags)}, f"{counted(len(tags), 'tag')} deleted."

    return delete_rows(session, TAGS, tags, "deleted, and taken off all pages", act, yes=yes, dry_run=dry_run)
