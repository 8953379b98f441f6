"""Feeds of any search, RSS and JSON Feed: for readers that know no headers, by a token that opens nothing else."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.utils.feedgenerator import Rss201rev2Feed
from ninja import Query, Router, Schema

from archivebox.accounts import tokens
from archivebox.accounts.permission import Who
from archivebox.accounts.roles import Action, TokenScope
from archivebox.api.credentials import Bearer, caller
from archivebox.api.problems import ProblemError
from archivebox.api.routes.snapshots import Question, found
from archivebox.base_models.paging import PageCursor
from archivebox.core.snapshot import Snapshot
from archivebox.search.backend import search_turn
from archivebox.search.finding import page_found

router = Router(tags=["feeds"])
ITEMS = 50
_NOT_FOR_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold (section 2.2), and titles of pages may."""


class FeedKey(Bearer):
    """Like :class:`Bearer`; or a token of the scope ``feed`` alone in the address, which others may come to see."""

    def __call__(self, request: HttpRequest) -> Who | None:
        text = request.GET.get("token")
        if text is None:
            return super().__call__(request)
        token = tokens.find(text)
        if token is None or token.scopes != [TokenScope.FEED.label]:
            raise ProblemError(401, "A token in an address must have the scope feed and no other.")
        token.touch()
        return token


class FeedFilter(Schema):
    """What the feed is of."""

    q: Question = ""
    token: str = ""


@router.get("/snapshots.rss", auth=FeedKey(Action.LIST), openapi_extra={"responses": {200: {"description": "RSS 2.0"}}})
def rss(request: HttpRequest, wanted: Query[FeedFilter]) -> HttpResponse:
    """The newest Snapshots of a search, as RSS."""
    base = _base(request)
    feed = Rss201rev2Feed(_as_xml(_title(wanted.q)), _library(base, wanted.q), "What was archived", language="en")
    for row in _newest(request, wanted.q):
        feed.add_item(
            _as_xml(row.title or row.url),
            _page(base, row),
            row.url,
            pubdate=row.created_at,
            unique_id=str(row.pk),
            unique_id_is_permalink=False,
            categories=[_as_xml(name) for name in _tags(row)],
        )
    return HttpResponse(feed.writeString("utf-8"), content_type="application/rss+xml; charset=utf-8")


@router.get("/snapshots.json", auth=FeedKey(Action.LIST))
def json_feed(request: HttpRequest, wanted: Query[FeedFilter]) -> dict[str, Any]:
    """The newest Snapshots of a search, as JSON Feed 1.1."""
    base = _base(request)
    items = [
        {
            "id": str(row.pk),
            "url": _page(base, row),
            "external_url": row.url,
            "title": row.title or row.url,
            "content_text": row.url,
            "date_published": row.created_at.isoformat(),
            "tags": _tags(row),
        }
        for row in _newest(request, wanted.q)
    ]
    return {
        "version": "https://jsonfeed.org/version/1.1",
        "title": _title(wanted.q),
        "home_page_url": _library(base, wanted.q),
        "items": items,
    }


def _newest(request: HttpRequest, query: str) -> Sequence[Snapshot]:
    with search_turn(query):
        rows = page_found(found(caller(request), query), PageCursor(), ITEMS).rows
    prefetch_related_objects(rows, "tags")
    return rows


def _as_xml(text: str) -> str:
    return _NOT_FOR_XML.sub("", text)


def _title(query: str) -> str:
    return f"ArchiveBox: {query}" if query else "ArchiveBox"


def _base(request: HttpRequest) -> str:
    """Where people reach this server."""
    return getattr(settings, "BASE_URL", "") or f"{request.scheme}://{request.get_host()}"


def _library(base: str, query: str) -> str:
    return f"{base}/?{urlencode({'q': query})}" if query else f"{base}/"


def _page(base: str, row: Snapshot) -> str:
    return f"{base}/snapshots/{row.pk}/"


def _tags(row: Snapshot) -> list[str]:
    return [tag.name for tag in row.tags.all()]
