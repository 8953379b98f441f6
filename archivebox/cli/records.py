"""Owns rows as JSON records: field names of the models, ISO times, no secrets."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from django.db import models
from django.db.models.expressions import OrderBy

from archivebox.base_models.rows import Row
from archivebox.hooks import resolve_settings
from archivebox.lib.batches import batches

Model = TypeVar("Model", bound=Row)

TIMED = 7
"""Version of keys that say when their row was made; that of a machine may be made of its name (MACHINE_ID)."""
PAGE = 500
"""Rows of one query of a long list."""


def record_of(row: Row, **more: object) -> dict[str, object]:
    """A row's columns by name, after its ``type``; ``more`` comes last."""
    record: dict[str, object] = {"type": type(row).__name__}
    for column in row._meta.concrete_fields:
        value = getattr(row, column.attname)
        secret = column.attname == "config" and value
        record[column.attname] = resolve_settings([]).redacted(value) if secret else value
    record["created_at"] = row.created_at if row.pk.version == TIMED else None
    return record | more


def pages(
    rows: "models.QuerySet[Model, Any]", limit: int | None = None, order: Sequence[OrderBy] = ()
) -> Iterator[list[Model]]:
    """All of ``rows``, the newest first or in an order, by pages: no list is too long, no transaction stays open."""
    if order:
        yield from _pages_in_order(rows, limit, order)
        return
    rows = rows.order_by("-id")
    last = None
    while limit is None or limit > 0:
        page = list((rows if last is None else rows.filter(id__lt=last))[: PAGE if limit is None else min(PAGE, limit)])
        if not page:
            return
        yield page
        last = page[-1].pk
        if limit is not None:
            limit -= len(page)


def _pages_in_order(
    rows: "models.QuerySet[Model, Any]", limit: int | None, order: Sequence[OrderBy]
) -> Iterator[list[Model]]:
    """Which they are is decided at once; what was deleted since is left out."""
    keys = list(rows.order_by(*order).values_list("pk", flat=True)[:limit])
    for part in batches(keys, PAGE):
        found = {row.pk: row for row in rows.order_by().filter(pk__in=part)}
        yield [found[key] for key in part if key in found]
