"""Reads what was typed: ids and their beginnings, times, numbers; and what fields and values mean to the database."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Q

from archivebox.base_models.rows import Row
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import RowField, ValueKind
from archivebox.lib.urls import BadUrl, parse_url
from archivebox.search.query import times
from archivebox.search.query.times import floor_of

Model = TypeVar("Model", bound=Row)

SHORTEST = 8
"""Characters of the beginning of an id that are taken for one."""
_TIMESTAMP = re.compile(r"\d{9,10}(\.\d+)?")


def find(model: type[Model], text: str) -> Model:
    """The row with this id, or the only one whose id begins so; BadInputError says what is wrong."""
    name = str(model._meta.verbose_name)
    digits = text.replace("-", "").lower()
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST},32}}", digits):
        raise BadInputError(
            f"{text!r} is not the id of a {name}: an id has 32 hexadecimal digits, the first 8 are enough."
        )
    manager = model._default_manager
    rows = manager.filter(pk__range=(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))))[:2]
    if not rows:
        raise BadInputError(f"There is no {name} {text}. `archivebox {name.replace(' ', '')} list` lists them.")
    if len(rows) > 1:
        raise BadInputError(f"More than one {name} begins with {text}: give more of its id.")
    return rows[0]


def find_all(model: type[Model], texts: tuple[str, ...]) -> list[Model]:
    """One row each; nothing is done with any of them unless all are there."""
    return [find(model, text) for text in texts]


def href(text: str) -> str:
    try:
        return parse_url(text).href
    except BadUrl as error:
        raise BadInputError(f"The URL {text!r} cannot be used: {error}.") from None


def age(text: str) -> timedelta:
    """``30d``, ``12h``, ``2w``; BadInputError for anything else."""
    try:
        return times.age(text)
    except ValueError as error:
        raise BadInputError(str(error)) from None


def moment(text: str) -> datetime:
    """A date or time (ISO 8601, UTC unless it says otherwise), an age before now, or seconds since 1970.

    BadInputError for anything else.
    """
    try:
        if _TIMESTAMP.fullmatch(text):
            return datetime.fromtimestamp(float(text), tz=UTC)
        return times.moment(text)
    except ValueError as error:
        raise BadInputError(str(error)) from None


def number(text: str) -> int:
    """A whole number; BadInputError for anything else."""
    try:
        return int(text)
    except ValueError:
        raise BadInputError(f"{text!r} is not a number.") from None


Reader = Callable[[str], Any]
"""A value as it was typed → as the database compares it; BadInputError for what is none."""
KEY_STEP = timedelta(milliseconds=1)
"""How exact the time in a key is."""
WHOLE = ("exact", "iexact", "in")
"""Lookups whose value is a whole field and not a part of one."""


def condition_of(model: type[Row], fields: Sequence[RowField], where: Mapping[str, str]) -> Q:
    """The condition that all filters are true, except those of kind OWN; BadInputError for a wrong value."""
    known, chosen = {field.name: field for field in fields}, Q()
    for asked, text in where.items():
        name, _, lookup = asked.partition("__")
        if known[name].kind is not ValueKind.OWN:
            chosen &= _one(model, known[name], lookup or known[name].exact, text)
    return chosen


def _one(model: type[Row], field: RowField, lookup: str, text: str) -> Q:
    read = _reader(model, field, lookup)
    value: Any = [read(part.strip()) for part in text.split(",") if part.strip()] if lookup == "in" else read(text)
    return _in_keys(lookup, value) if field.name == "created_at" else Q(**{f"{field.name}__{lookup}": value})


def _reader(model: type[Row], field: RowField, lookup: str) -> Reader:
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


def _choice(field: RowField, text: str) -> str:
    if text not in field.choices:
        raise BadInputError(f"{text!r} is no {field.name}: give {', '.join(field.choices)}.")
    return text


def _in_keys(lookup: str, when: datetime) -> Q:
    """When a row was made is in its key."""
    floor, behind = floor_of(when), floor_of(when + KEY_STEP)
    return {"gte": Q(pk__gte=floor), "gt": Q(pk__gte=behind), "lt": Q(pk__lt=floor), "lte": Q(pk__lt=behind)}[lookup]
