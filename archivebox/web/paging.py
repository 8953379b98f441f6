"""Owns pages of long lists: by key, never by offset, never counting all."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import models
from django.http import Http404, HttpRequest

SIZE = 50
Shown = TypeVar("Shown", bound=models.Model)


@dataclass(frozen=True)
class Page(Generic[Shown]):
    """Rows, newest first, and the keys from which the pages beside it go on (None: there is none)."""

    rows: list[Shown]
    older: UUID | None
    newer: UUID | None


def page_of(rows: "models.QuerySet[Shown, Any]", request: HttpRequest, size: int = SIZE) -> Page[Shown]:
    """The page that ``?before=<key>`` or ``?after=<key>`` names, else the newest. Http404 for what is no key."""
    before, after = _key(request, "before"), _key(request, "after")
    if after is not None:
        found = list(rows.filter(pk__gt=after).order_by("pk")[: size + 1])
        more, found = len(found) > size, found[:size][::-1]
        return Page(found, found[-1].pk if found else None, found[0].pk if more else None)
    chosen = rows.filter(pk__lt=before) if before is not None else rows
    found = list(chosen.order_by("-pk")[: size + 1])
    more, found = len(found) > size, found[:size]
    newer = found[0].pk if before is not None and found else None
    return Page(found, found[-1].pk if more else None, newer)


def _key(request: HttpRequest, name: str) -> UUID | None:
    text = request.GET.get(name)
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise Http404("no such page") from error
