"""Owns searching in the name of whoever asks: among which pages, and whether in their texts."""

from dataclasses import dataclass
from typing import Self

from django.contrib import messages
from django.http import HttpRequest

from archivebox.accounts.permission import sight_of
from archivebox.accounts.roles import Action
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.query import QueryError, Selection, chosen, explain
from archivebox.web.access import allows, may_see


def found(request: HttpRequest, query: str) -> Selection:
    """The pages that a query means. QueryError.

    Texts are not searched for whoever may see the list alone, and could guess at them; what was removed is theirs
    who may bring it back.
    """
    sight, removed = sight_of(request.user), allows(request, Action.EDIT)
    try:
        return chosen(query, sight, removed=removed, texts=may_see(request, "PUBLIC_SNAPSHOTS"))
    except SearchUnavailableError as problem:
        messages.warning(request, f"Only titles, URLs and tags are searched. {problem}")
        return chosen(query, sight, removed=removed, texts=False)


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
