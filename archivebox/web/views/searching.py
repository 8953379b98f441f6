"""Owns what helps while a query is typed."""

from dataclasses import asdict

from django.http import HttpRequest, JsonResponse

from archivebox.accounts.permission import viewer_scope
from archivebox.search.query import complete
from archivebox.search.query.parser import MOST_CHARACTERS
from archivebox.web.auth.page_access import public_if
from archivebox.web.library.library_search import initial_suggestions, reading_of


@public_if("PUBLIC_INDEX")
def suggestions_json(request: HttpRequest) -> JsonResponse:
    """``?q=…&at=<cursor>``: what may stand there, and how the query reads so far."""
    text = request.GET.get("q", "")[:MOST_CHARACTERS]
    at = request.GET.get("at", "")
    cursor = min(int(at), len(text)) if at.isdecimal() else len(text)
    found = complete(text, cursor, viewer_scope(request.user)) if text.strip() else initial_suggestions(request)
    suggestions = [asdict(one) for one in found]
    return JsonResponse({"suggestions": suggestions, **asdict(reading_of(text.strip()))})
