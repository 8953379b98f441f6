"""Pages of long lists, by key: never an offset, never a count of all."""

from collections.abc import Callable
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from django.db import models
from ninja import Schema
from pydantic import Field

from archivebox.base_models.rows import Row

Shown = TypeVar("Shown", bound=Row)
Shape = TypeVar("Shape")


class Window(Schema):
    """Which part of a list is wanted."""

    limit: Annotated[int, Field(ge=1, le=500, description="At most so many")] = 50
    cursor: Annotated[UUID | None, Field(description="`next` of the page before")] = None


class Page(Schema, Generic[Shape]):
    """A part of a list, the newest first."""

    items: list[Shape]
    next: Annotated[UUID | None, Field(description="`cursor` of the next page; null: this is the last")] = None


def page_of(rows: "models.QuerySet[Shown]", window: Window, shape: Callable[[list[Shown]], list[Shape]]) -> Page[Shape]:
    """The part that ``window`` asks for; ``shape`` is handed all of its rows, to ask for what they need at once."""
    chosen = rows.filter(pk__lt=window.cursor) if window.cursor else rows
    found = list(chosen.order_by("-pk")[: window.limit + 1])
    more, found = len(found) > window.limit, found[: window.limit]
    return Page(items=shape(found), next=found[-1].pk if more else None)
