"""Saved searches: queries that somebody gave a name."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import StringConstraints

from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller_account
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.routes.snapshots import Question
from archivebox.api.shapes.archive import RequestBody
from archivebox.search.models import SavedSearch, rename_search, save_search
from archivebox.search.query import QueryError


class SearchOut(Schema):
    """A query that somebody gave a name."""

    id: UUID
    name: str
    query: str
    modified_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[SavedSearch]) -> "list[SearchOut]":
        return [cls(id=row.pk, name=row.name, query=row.query, modified_at=row.modified_at) for row in rows]


router = Router(tags=["searches"])
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]


class SearchIn(RequestBody):
    name: Name
    query: Question


class SearchPatch(RequestBody):
    name: Name


@router.get("", response=Page[SearchOut], auth=Bearer(Action.LIST))
def list_searches(request: HttpRequest, window: Query[Window]) -> Page[SearchOut]:
    """Your own searches."""
    return page_of(SavedSearch.objects.filter(owner=caller_account(request)), window, SearchOut.all_of)


@router.post("", response={201: SearchOut}, auth=Bearer(Action.OWN))
def save(request: HttpRequest, wanted: SearchIn) -> Status[SearchOut]:
    """Keep a query under a name; what has the name already gets the query."""
    try:
        search = save_search(caller_account(request), wanted.name, wanted.query)
    except QueryError:
        raise
    except ValueError as error:
        raise ProblemError(422, str(error)) from None
    return Status(201, SearchOut.all_of([search])[0])


@router.get("/{uuid:search_id}", response=SearchOut, auth=Bearer(Action.LIST))
def get_search(request: HttpRequest, search_id: UUID) -> SearchOut:
    """One search; `/api/v1/snapshots?q=` with its query is what it finds."""
    return SearchOut.all_of([_find(request, search_id)])[0]


@router.patch("/{uuid:search_id}", response=SearchOut, auth=Bearer(Action.OWN))
def change_search(request: HttpRequest, search_id: UUID, wanted: SearchPatch) -> SearchOut:
    """Give it another name."""
    search = _find(request, search_id)
    try:
        rename_search(search, wanted.name)
    except ValueError as error:
        raise ProblemError(422, str(error)) from None
    return SearchOut.all_of([search])[0]


@router.delete("/{uuid:search_id}", response={204: None}, auth=Bearer(Action.OWN))
def remove_search(request: HttpRequest, search_id: UUID) -> Status[None]:
    """Forget it."""
    _find(request, search_id).delete()
    return Status(204, None)


def _find(request: HttpRequest, key: UUID) -> SavedSearch:
    found = SavedSearch.objects.filter(owner=caller_account(request), pk=key).first()
    if found is None:
        raise Http404
    return found
