"""Owns reading what was typed: ids and their beginnings, URLs, times, numbers."""

import re
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from uuid import UUID

from archivebox.base_models.rows import Row
from archivebox.cli.errors import BadInputError
from archivebox.lib.urls import BadUrl, parse_url
from archivebox.search.query import times

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
