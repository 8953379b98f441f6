"""Owns what the fields that were asked for on a command line mean to the database."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from archivebox.base_models.rows import Row
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import Field, ValueKind
from archivebox.cli.values import find, href, moment, number
from archivebox.search.query.times import floor_of

Reader = Callable[[str], Any]
"""A value as it was typed → as the database compares it; BadInputError for what is none."""
KEY_STEP = timedelta(milliseconds=1)
"""How exact the time in a key is."""
WHOLE = ("exact", "iexact", "in")
"""Lookups whose values are all of what a field holds."""


def condition_of(model: type[Row], fields: Sequence[Field], where: Mapping[str, str]) -> Q:
    """Rows ``where`` all of these hold, but for those of a meaning of their own; BadInputError for a wrong value."""
    known, chosen = {field.name: field for field in fields}, Q()
    for asked, text in where.items():
        name, _, lookup = asked.partition("__")
        if known[name].kind is not ValueKind.OWN:
            chosen &= _one(model, known[name], lookup or known[name].exact, text)
    return chosen


def _one(model: type[Row], field: Field, lookup: str, text: str) -> Q:
    read = _reader(model, field, lookup)
    value: Any = [read(part.strip()) for part in text.split(",") if part.strip()] if lookup == "in" else read(text)
    return _in_keys(lookup, value) if field.name == "created_at" else Q(**{f"{field.name}__{lookup}": value})


def _reader(model: type[Row], field: Field, lookup: str) -> Reader:
    if field.kind is ValueKind.KEY:
        return lambda text: find(_related(model, field.name), text).pk
    if field.kind is ValueKind.NUMBER:
        return number
    if field.kind is ValueKind.TIME:
        return moment
    if field.choices:
        return lambda text: _choice(field, text)
    return href if field.name == "url" and lookup in WHOLE else str


def _related(model: type[Row], name: str) -> type[Row]:
    related: type[Row] = model._meta.get_field(name).related_model  # type: ignore[assignment]  # a foreign key
    return related


def _choice(field: Field, text: str) -> str:
    if text not in field.choices:
        raise BadInputError(f"{text!r} is no {field.name}: give {', '.join(field.choices)}.")
    return text


def _in_keys(lookup: str, when: datetime) -> Q:
    """When a row was made is in its key."""
    floor, behind = floor_of(when), floor_of(when + KEY_STEP)
    return {"gte": Q(pk__gte=floor), "gt": Q(pk__gte=behind), "lt": Q(pk__lt=floor), "lte": Q(pk__lt=behind)}[lookup]
