"""Owns what a share link opens, without a log-in: replay and article of one page, or of those that a search finds."""

from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from archivebox.contract.formats import FormatKind, best_of
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import outputs_of
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.query import QueryError
from archivebox.search.share import ShareLink, find_share_link
from archivebox.web.page.list_paging import page_of
from archivebox.web.snapshot.format_views import article_of
from archivebox.web.snapshot.replay_frame import shared_base, shared_frame

_GONE = "This link has expired or was revoked, or the page is no longer shared. Ask the sender for a new link."
_UNAVAILABLE = "This search is unavailable. Try again later."


@login_not_required
@require_safe
def opened(request: HttpRequest, token: str) -> HttpResponse:
    """The page that was shared, or the list of what a search finds now."""
    link = find_share_link(token)
    if link is None:
        return _closed(request, 404, _GONE)
    if link.snapshot_id is not None:
        return _page(request, token, link, link.snapshot_id)
    try:
        rows = link.selection().rows
    except (QueryError, SearchUnavailableError):
        return _closed(request, 503, _UNAVAILABLE)
    _count(request, link)
    context = {"token": token, "link": link, "page": page_of(rows, request)}
    return _answer(render(request, "web/shared/list.html", context))


@login_not_required
@require_safe
def one_found(request: HttpRequest, token: str, snapshot_id: UUID) -> HttpResponse:
    """One page of those that a shared search finds."""
    link = find_share_link(token)
    if link is None or link.search_id is None:
        return _closed(request, 404, _GONE)
    return _page(request, token, link, snapshot_id)


def _page(request: HttpRequest, token: str, link: ShareLink, snapshot_id: UUID) -> HttpResponse:
    try:
        snapshot = link.page(snapshot_id)
    except (QueryError, SearchUnavailableError):
        return _closed(request, 503, _UNAVAILABLE)
    if snapshot is None:
        return _closed(request, 404, _GONE)
    _count(request, link)
    frame, article = shared_frame(request, snapshot, link), _article(request, snapshot, link)
    shows_article = article is not None and (frame is None or request.GET.get("view") == "article")
    context = {
        "token": token,
        "link": link,
        "snapshot": snapshot,
        "frame": None if shows_article else frame,
        "about": article if shows_article else None,
        "has_both": frame is not None and article is not None,
    }
    return _answer(render(request, "web/shared/page.html", context))


def _article(request: HttpRequest, snapshot: Snapshot, link: ShareLink) -> dict[str, object] | None:
    """The best article, whose links lead to the live web; None where none was kept."""
    best = best_of(list(snapshot.archiveresult_set.all()), outputs_of, "reader")
    if best is None or best.file is None or best.kind is not FormatKind.PAGE:
        return None
    return article_of(snapshot, best, best.file, shared_base(request, snapshot, link), "")


def _count(request: HttpRequest, link: ShareLink) -> None:
    if request.method == "GET":
        link.count_view()


def _closed(request: HttpRequest, status: int, sentence: str) -> HttpResponse:
    context = {"title": "Not shared", "sentence": sentence}
    return _answer(render(request, "web/error.html", context, status=status))


def _answer(answer: HttpResponse) -> HttpResponse:
    """The address is the secret: no search engine keeps it, and no other site is told."""
    answer["X-Robots-Tag"] = "noindex, nofollow"
    answer["Referrer-Policy"] = "no-referrer"
    return answer
