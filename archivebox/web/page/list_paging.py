"""Owns what an address says of a part of a long list, and how a count that went only so far is written."""

from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.http import Http404, HttpRequest

from archivebox.base_models import paging
from archivebox.base_models.paging import NEWEST, Order, PageCursor, PageOfRows, PlaceGoneError, Shown

SIZE = 50


def page_of(
    rows: "models.QuerySet[Shown, Any]", request: HttpRequest, size: int = SIZE, order: Order = NEWEST
) -> PageOfRows[Shown]:
    """The page at :func:`place_of` the request. Http404."""
    try:
        return paging.page_of(rows, place_of(request), size, order)
    except PlaceGoneError as gone:
        raise Http404("no such page") from gone


def page_within(
    rows: "models.QuerySet[Shown, Any]", chosen: Q, request: HttpRequest, size: int = SIZE
) -> PageOfRows[Shown]:
    """The same of those that are as ``chosen``, which no index finds (:func:`paging.page_within`)."""
    return paging.page_within(rows, chosen, place_of(request), size)


def place_of(request: HttpRequest) -> PageCursor:
    """What ``?before=<key>`` (further down) or ``?after=<key>`` (further up) names, else the top. Http404: no key."""
    try:
        before, after = (UUID(text) if (text := request.GET.get(name)) else None for name in ("before", "after"))
    except ValueError as error:
        raise Http404("no such page") from error
    return PageCursor(before, after)


def at_most(count: int, counted: int) -> str:
    """``12``, ``1,000+``."""
    return f"{counted:,}+" if count > counted else f"{count:,}"
