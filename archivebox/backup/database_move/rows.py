"""Owns the rows of a table as any of the databases has them: read in the order of their keys, written, and compared."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

BATCH = 1_000
"""Rows of one transaction."""
_MODULUS = 1 << 256

Row = tuple[Any, ...]
Model = type[models.Model]


@dataclass(frozen=True, slots=True)
class TableDigest:
    """How many rows a table has, and the sum of their SHA-256, which does not depend on their order."""

    rows: int
    digest: str


def all_models() -> list[Model]:
    """Those that have a table, with those between two models."""
    known = apps.get_models(include_auto_created=True)
    return [model for model in known if model._meta.managed and not model._meta.proxy]


def read_rows(model: Model, database: str, after: object = None) -> Iterator[Row]:
    """The rows beyond a key, in the order of keys that this database has."""
    rows: models.QuerySet[Any] = models.QuerySet(model, using=database).order_by("pk")
    if after is not None:
        rows = rows.filter(pk__gt=after)
    return rows.values_list(*(field.attname for field in _fields(model))).iterator(chunk_size=BATCH)


def key_of(model: Model, row: Row) -> object:
    """The primary key in a row of :func:`read_rows`."""
    return row[_fields(model).index(model._meta.pk)]


def write_rows(model: Model, connection: BaseDatabaseWrapper, rows: Iterable[Row]) -> None:
    """Insert rows as they were read: without what a model does when it is saved, such as to note the time."""
    fields, quote = _fields(model), connection.ops.quote_name
    columns, marks = ", ".join(quote(str(field.column)) for field in fields), ", ".join(["%s"] * len(fields))
    table = quote(model._meta.db_table)
    sql = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - names of our own tables
    values = [
        tuple(field.get_db_prep_save(value, connection) for field, value in zip(fields, row, strict=True))
        for row in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(sql, values)


def delete_rows(model: Model, connection: BaseDatabaseWrapper) -> None:
    """Empty its table, whatever refers to it."""
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - a name of our own tables


def digest_of(model: Model, database: str) -> TableDigest:
    """Reads all rows."""
    count = total = 0
    for count, row in enumerate(read_rows(model, database), 1):  # noqa: B007 - used after the loop
        text = json.dumps(row, sort_keys=True, default=_plain)
        total += int.from_bytes(hashlib.sha256(text.encode()).digest())
    return TableDigest(count, f"{total % _MODULUS:064x}")


def _fields(model: Model) -> list["models.Field[Any, Any]"]:
    return [field for field in model._meta.local_concrete_fields if not field.generated]


def _plain(value: object) -> str:
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)
