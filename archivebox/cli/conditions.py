"""Owns what the columns that were asked for on a command line mean to the database."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from archivebox.base_models.rows import Row
from archivebox.cli.columns import ColumnFilter, ValueKind
from archivebox.cli.errors import BadInputError
from archivebox.cli.values import find, href, moment, number
from archivebox.search.query.times import floor_of

Reader = Callable[[str], Any]
"""A value as it was typed → as the database compares it; BadInputError for what is none."""
KEY_STEP = timedelta(milliseconds=1)
"""How exact the time in a key is."""
WHOLE = ("exact", "iexact", "in")
"""Lookups whose values are all of what a column holds."""


def condition_of(model: type[Row], columns: Iterable[ColumnFilter], given: Mapping[str, object]) -> Q:
    """Rows of which all that was ``given`` holds; BadInputError for a value that is none."""
    chosen = Q()
    for column in columns:
        for lookup in ("", *column.lookups):
            text = given.get(f"{column.name}__{lookup}" if lookup else column.name)
            if text is not None:
                chosen &= _one(model, column, lookup or column.exact, str(text))
    return chosen


def _one(model: type[Row], column: ColumnFilter, lookup: str, text: str) -> Q:
    read = _reader(model, column, lookup)
    value: Any = [read(part.strip()) for part in text.split(",") if part.strip()] if lookup == "in" else read(text)
    return _in_keys(lookup, value) if column.name == "created_at" else Q(**{f"{column.name}__{lookup}": value})


def _reader(model: type[Row], column: ColumnFilter, lookup: str) -> Reader:
    if column.kind is ValueKind.KEY:
        return lambda text: find(_related(model, column.name), text).pk
    if column.kind is ValueKind.NUMBER:
        return number
    if column.kind is ValueKind.TIME:
        return moment
    if column.choices:
        return lambda text: _choice(column, text)
    return href if column.name == "url" and lookup in WHOLE else str


def _related(model: type[Row], name: str) -> type[Row]:
    related: type[Row] = model._meta.get_field(name).related_model  # type: ignore[assignment]  # a foreign key
    return related


def _choice(column: ColumnFilter, text: str) -> str:
    if text not in column.choices:
        raise BadInputError(f"{text!r} is no {column.name}: give {', '.join(column.choices)}.")
    return text


def _in_keys(lookup: str, when: datetime) -> Q:
    """When a row was made is in its key."""
    floor, behind = floor_of(when), floor_of(when + KEY_STEP)
    return {"gte": Q(pk__gte=floor), "gt": Q(pk__gte=behind), "lt": Q(pk__lt=floor), "lte": Q(pk__lt=behind)}[lookup]
