"""Owns `archivebox tag list`."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Count

from archivebox.cli.fields import TAG
from archivebox.cli.listing import show_model
from archivebox.cli.output import Column, Record
from archivebox.cli.records import record_of
from archivebox.cli.session import Session
from archivebox.core.models import Snapshot, Tag

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
