"""Owns searching in the name of whoever asks: among which pages, whether in their texts, and what helps to begin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from django.contrib import messages
from django.http import HttpRequest

from archivebox.accounts.permission import viewer_scope
from archivebox.accounts.roles import Action
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.facets import frequent_tags, quoted
from archivebox.search.finding import snippets
from archivebox.search.query import QueryError, Selection, Suggestion, chosen, explain
from archivebox.web.auth.page_access import allows, may_see
from archivebox.web.page.cards import Card

EXAMPLES = ("has:pdf", "is:failed", "http:404", "after:30d", "type:video")
"""What an empty search box offers to try."""
MOST_RECENT = 6
MOST_TAGS = 6
_RECENT = "searches"
"""Where a session keeps what was searched for."""


def found(request: HttpRequest, query: str) -> Selection:
    """The pages that a query means. QueryError.

    Texts are not searched for whoever may see the list alone, and could guess at them; what was removed is theirs
    who may bring it back.
    """
    scope, removed = viewer_scope(request.user), allows(request, Action.EDIT)
    try:
        return chosen(query, scope, removed=removed, texts=may_see(request, "PUBLIC_SNAPSHOTS"))
    except SearchUnavailableError as problem:
        messages.warning(request, f"Only titles, URLs and tags were searched. {problem}")
        return chosen(query, scope, removed=removed, texts=False)


@dataclass(frozen=True)
class Reading:
    """How a query is understood: a phrase, or what is wrong with it and at which character."""

    phrase: str = ""
    problem: str = ""
    position: int = 0

    @classmethod
    def of_error(cls, error: QueryError) -> Self:
        return cls(problem=error.sentence, position=error.position)


def reading_of(query: str) -> Reading:
    try:
        return Reading(phrase=explain(query)) if query else Reading()
    except QueryError as error:
        return Reading.of_error(error)


def put_snippets(shown: Sequence[Card], selection: Selection) -> None:
    """Give each card what its page says of the words."""
    found = snippets(selection, [card.snapshot for card in shown])
    for card in shown:
        card.match = found.get(card.snapshot.pk)


def remember(request: HttpRequest, query: str, *, is_found: bool) -> None:
    """Keep a query that found something among those last searched for, until its person logs out."""
    if request.user.is_authenticated and is_found and query:
        former = recent(request)
        if former[:1] != [query]:
            request.session[_RECENT] = [query, *(one for one in former if one != query)][:MOST_RECENT]


def recent(request: HttpRequest) -> list[str]:
    """What was searched for last, the latest first."""
    if not request.user.is_authenticated:
        return []
    kept: list[str] = request.session.get(_RECENT, [])
    return kept


def initial_suggestions(request: HttpRequest) -> list[Suggestion]:
    """What an empty box offers: former searches, frequent tags, examples."""
    known = recent(request)
    former = [Suggestion(0, 0, query, "searched before") for query in known]
    tags = [
        Suggestion(0, 0, f"#{quoted(name)}", "tag") for name in frequent_tags(viewer_scope(request.user), MOST_TAGS)
    ]
    examples = [Suggestion(0, 0, query, explain(query)) for query in EXAMPLES if query not in known]
    return [*former, *tags, *examples]
