"""Pages of long lists, by key: never an offset, never a count of all."""

from collections.abc import Callable
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from django.db import models
from ninja import Schema
from pydantic import Field

from archivebox.base_models import paging
from archivebox.base_models.paging import PageCursor
from archivebox.base_models.rows import Row

Shown = TypeVar("Shown", bound=Row)
Shape = TypeVar("Shape")


class Window(Schema):
    """Which part of a list is wanted."""

    limit: Annotated[int, Field(ge=1, le=500, description="At most so many")] = 50
    cursor: Annotated[UUID | None, Field(description="`next` of the page before")] = None

    @property
    def place(self) -> PageCursor:
        return PageCursor(before=self.cursor)


_NEXT = "`cursor` of the next page, even if this one has few or no items; null: this is the last page"


class Page(Schema, Generic[Shape]):
    """A part of a list, the newest first."""

    items: list[Shape]
    next: Annotated[UUID | None, Field(description=_NEXT)] = None


def page_of(rows: "models.QuerySet[Shown]", window: Window, shape: Callable[[list[Shown]], list[Shape]]) -> Page[Shape]:
    """The part that ``window`` asks for; ``shape`` is handed all of its rows, to ask for what they need at once."""
    found = paging.page_of(rows, window.place, window.limit)
    return Page(items=shape(found.rows), next=found.older)


def page_within(
    rows: "models.QuerySet[Shown]", chosen: models.Q, window: Window, shape: Callable[[list[Shown]], list[Shape]]
) -> Page[Shape]:
    """The part of those that are as ``chosen``, which no index finds (:func:`paging.page_within`)."""
    found = paging.page_within(rows, chosen, window.place, window.limit)
    return Page(items=shape(found.rows), next=found.older)
