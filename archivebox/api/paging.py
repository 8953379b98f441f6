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


LOOKED_AT = 20_000
"""Rows that are looked through for a page of those that no index finds."""


class Window(Schema):
    """Which part of a list is wanted."""

    limit: Annotated[int, Field(ge=1, le=500, description="At most so many")] = 50
    cursor: Annotated[UUID | None, Field(description="`next` of the page before")] = None


_NEXT = "`cursor` of the next page, also where this one has few or no items; null: this is the last"


class Page(Schema, Generic[Shape]):
    """A part of a list, the newest first."""

    items: list[Shape]
    next: Annotated[UUID | None, Field(description=_NEXT)] = None


def page_of(rows: "models.QuerySet[Shown]", window: Window, shape: Callable[[list[Shown]], list[Shape]]) -> Page[Shape]:
    """The part that ``window`` asks for; ``shape`` is handed all of its rows, to ask for what they need at once."""
    found = list(_from(rows, window)[: window.limit + 1])
    more, found = len(found) > window.limit, found[: window.limit]
    return Page(items=shape(found), next=found[-1].pk if more else None)


def page_within(
    rows: "models.QuerySet[Shown]",
    chosen: models.Q,
    window: Window,
    shape: Callable[[list[Shown]], list[Shape]],
    most: int = LOOKED_AT,
) -> Page[Shape]:
    """The part of those that are as ``chosen``, which no index finds: ``most`` are looked through at a time.

    It may be short, or empty, and yet have a next.
    """
    edge = _from(rows, window).values_list("pk", flat=True)[most : most + 1].first()
    page = page_of(rows.filter(chosen) if edge is None else rows.filter(chosen, pk__gte=edge), window, shape)
    page.next = page.next or edge
    return page


def _from(rows: "models.QuerySet[Shown]", window: Window) -> "models.QuerySet[Shown]":
    return (rows.filter(pk__lt=window.cursor) if window.cursor else rows).order_by("-pk")
