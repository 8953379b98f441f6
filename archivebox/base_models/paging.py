"""Owns parts of long lists: by key, never by offset, never counting all."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.lookups import GreaterThan, LessThan

LOOKED_AT = 20_000
"""Rows that are looked through for a page of those that no index finds: 30 ms."""
NEARBY = 10_000
"""Rows among which a page is looked for first: to find its edge takes 1 ms."""
Shown = TypeVar("Shown", bound=models.Model)


class PlaceGoneError(LookupError):
    """The row at which a part of a list was to begin is no longer there."""


@dataclass(frozen=True)
class PageCursor:
    """Where a part of a list begins: ``before`` a row, further down, or ``after`` one, further up; else at its top."""

    before: UUID | None = None
    after: UUID | None = None

    @property
    def key(self) -> UUID | None:
        return self.after or self.before


@dataclass(frozen=True)
class Order:
    """How a list is sorted: by an indexed column, where one is named, and then by key.

    ``expression``: what the column stands for, where the model has none of this name.
    """

    column: str = ""
    descending: bool = False
    expression: "Func | None" = None

    def descends_from(self, place: PageCursor) -> bool:
        """Whether keys become smaller on the way from there: further up it is the other way round."""
        return self.descending != (place.after is not None)

    def sort(self, rows: "models.QuerySet[Shown, Any]", *, backwards: bool) -> "models.QuerySet[Shown, Any]":
        sign = "-" if self.descending != backwards else ""
        return self._named(rows).order_by(*[sign + name for name in (self.column, "pk") if name])

    def beyond(
        self, rows: "models.QuerySet[Shown, Any]", key: UUID, *, backwards: bool
    ) -> "models.QuerySet[Shown, Any]":
        """Those that come after the row of this key; ``backwards``: before it. PlaceGoneError."""
        side = "lt" if self.descending != backwards else "gt"
        if not self.column:
            return rows.filter(**{f"pk__{side}": key})
        edge = self._named(rows.model._default_manager.filter(pk=key)).values_list(self.column, flat=True).first()
        if edge is None:
            raise PlaceGoneError(key)
        compare = LessThan if side == "lt" else GreaterThan
        return self._named(rows).filter(compare(_row(F(self.column), F("pk")), _row(Value(edge), Value(key))))

    def _named(self, rows: "models.QuerySet[Shown, Any]") -> "models.QuerySet[Shown, Any]":
        return rows if self.expression is None else rows.annotate(**{self.column: self.expression})


def _row(*values: "F | Value") -> Func:
    """Both columns as one value, at which an index begins: of one host there may be 100,000 pages before the edge.

    Django's own tuples are taken apart for SQLite, which then reads all of these.
    """
    return Func(*values, template="(%(expressions)s)", output_field=models.BooleanField())


NEWEST = Order(descending=True)


@dataclass(frozen=True)
class PageOfRows(Generic[Shown]):
    """Rows in their order, and the keys from which the pages beside it go on (None: there is none)."""

    rows: list[Shown]
    older: UUID | None
    newer: UUID | None

    @property
    def is_all(self) -> bool:
        return self.older is None and self.newer is None


def page_of(
    rows: "models.QuerySet[Shown, Any]", place: PageCursor, size: int, order: Order = NEWEST
) -> PageOfRows[Shown]:
    """At most ``size`` rows from there on. PlaceGoneError."""
    if place.after is not None:
        found = list(order.sort(order.beyond(rows, place.after, backwards=True), backwards=True)[: size + 1])
        more, found = len(found) > size, found[:size][::-1]
        return PageOfRows(found, found[-1].pk if found else None, found[0].pk if more else None)
    chosen = order.beyond(rows, place.before, backwards=False) if place.before is not None else rows
    found = list(order.sort(chosen, backwards=False)[: size + 1])
    more, found = len(found) > size, found[:size]
    newer = found[0].pk if place.before is not None and found else None
    return PageOfRows(found, found[-1].pk if more else None, newer)


def page_within(rows: "models.QuerySet[Shown, Any]", chosen: Q, place: PageCursor, size: int) -> PageOfRows[Shown]:
    """The page of those among ``rows`` that are as ``chosen``; the next goes on behind the LOOKED_AT looked through.

    It may be short, or empty, and yet have an older one.
    """
    edge = _edge(rows, place, LOOKED_AT)
    side = "gte" if place.after is None else "lte"
    page = page_of((rows if edge is None else rows.filter(**{f"pk__{side}": edge})).filter(chosen), place, size)
    if edge is None:
        return page
    return replace(page, older=page.older or edge) if place.after is None else replace(page, newer=page.newer or edge)


def page_near(
    every: "models.QuerySet[Shown, Any]",
    within: "Callable[[UUID | None, UUID | None], models.QuerySet[Shown, Any]]",
    place: PageCursor,
    size: int,
    order: Order = NEWEST,
    *,
    most: int = NEARBY,
) -> PageOfRows[Shown]:
    """The page, by key, of what ``within`` finds from one key to another: near the place, or all if that is too little.

    Of rows that an index finds, but not in the order of the list, a database gathers all before it shows the first.
    ``every``: those among which they all are, in the order of the list.
    """
    way = Order(descending=order.descends_from(place))
    first = _ahead(every, place.key, way).first()
    last = _ahead(every, first, way)[most - 1 : most].first() if first else None
    if last is not None:
        page = page_of(within(*_bounds(first, last, way)), place, size, order)
        if (page.older if place.after is None else page.newer) is not None:
            return page
    return page_of(within(*_bounds(place.key, None, way)), place, size, order)


def _bounds(first: UUID | None, last: UUID | None, way: Order) -> tuple[UUID | None, UUID | None]:
    return (last, first) if way.descending else (first, last)


def _edge(rows: "models.QuerySet[Shown, Any]", place: PageCursor, most: int) -> UUID | None:
    """The key of the row that is so far beyond the place; None: there are not so many."""
    return _ahead(rows, place.key, Order(descending=place.after is None))[most : most + 1].first()


def _ahead(rows: "models.QuerySet[Shown, Any]", start: UUID | None, order: Order) -> "models.QuerySet[Shown, UUID]":
    """The keys that come after ``start``, in their order."""
    further = order.beyond(rows, start, backwards=False) if start is not None else rows
    return order.sort(further, backwards=False).values_list("pk", flat=True)
