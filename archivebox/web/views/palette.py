"""Owns the palette: where one may go and which pages there are, by some letters of their names."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from archivebox.accounts.permission import viewer_scope
from archivebox.accounts.roles import Action
from archivebox.base_models.paging import PageCursor
from archivebox.base_models.visibility import ViewerScope
from archivebox.core.snapshot import Snapshot
from archivebox.search.finding import page_found
from archivebox.search.query import QueryError, chosen
from archivebox.web.auth.page_access import allows
from archivebox.web.page.navigation import places

ADD = "add pages"
PAGES = 8
"""Archived pages that are offered."""


def offered(request: HttpRequest) -> HttpResponse:
    """``?q=``: places whose names have these letters, and the newest pages that the query means, texts left out."""
    query = request.GET.get("q", "").strip()
    named = [place for place in places(request) if query.lower() in place.entry.label.lower()]
    adds = query.lower() in ADD and allows(request, Action.ADD)
    context = {"places": named, "adds": adds, "pages": _pages(query, viewer_scope(request.user)), "q": query}
    return render(request, "web/palette.html", context)


def _pages(query: str, scope: ViewerScope) -> list[Snapshot]:
    try:
        found = chosen(query, scope, removed=False, texts=False)
    except QueryError:  # it is still being typed
        return []
    return page_found(found, PageCursor(), PAGES).rows
