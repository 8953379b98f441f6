"""Owns `archivebox search`."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from archivebox.base_models.paging import Order
from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import SNAPSHOT
from archivebox.cli.listing import COLUMNS, SORTED_AS, ListOptions, came_to_of, record_of, show_rows
from archivebox.cli.output import Output
from archivebox.cli.selection import is_chosen, pointed_at, snapshots
from archivebox.cli.session import Session
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.finding import ORDERS, FoundSnapshot, find, sortable
from archivebox.search.query import QueryError, chosen
from archivebox.search.query.selection import MOST_HITS

UNANSWERED = 1
"""Exit status where the texts could not be searched."""


def run(session: Session, *, terms: tuple[str, ...], **choice: Any) -> int:
    """What is found says where the words are."""
    wanted = ListOptions.pop_from(choice)
    query = " ".join(terms)
    if not query.strip():
        raise BadInputError("Enter at least one word to search for.")
    out, code, among = session.out, 0, snapshots(**choice) if is_chosen((), choice["where"]) else None
    try:
        selection = chosen(query, EVERYTHING, among=among)
    except QueryError as error:
        raise BadInputError(pointed_at(query, error)) from None
    except SearchUnavailableError as problem:
        out.warn(f"Only titles, URLs and tags were searched. {problem}")
        selection, code = chosen(query, EVERYTHING, among=among, texts=False), UNANSWERED
    _show(out, find(sortable(selection, wanted.sort or ""), wanted.bound(out) or MOST_HITS, _order(wanted)), wanted)
    return code


def _order(wanted: ListOptions) -> Order | None:
    """None: the best first."""
    if wanted.sort is None or wanted.sort in ORDERS:
        return ORDERS.get(wanted.sort or "")
    wanted.order(SNAPSHOT)  # refuses what is no field
    name = wanted.sort.removeprefix("-")
    column = SORTED_AS.get(name, name)
    return Order("" if column == "id" else column, descending=wanted.sort.startswith("-"))


def _show(out: Output, found: list[FoundSnapshot], wanted: ListOptions) -> None:
    if out.is_for_people and not wanted.is_file:
        for one in found:
            _say(out, one)
        if not found:
            out.say("No results. `archivebox manage reindex` indexes what was archived before.")
        return
    show_rows(out, COLUMNS, _records(found), wanted)


def _records(found: list[FoundSnapshot]) -> Iterator[dict[str, object]]:
    came_to = came_to_of([one.snapshot for one in found])
    for one in found:
        tags = [tag.name for tag in one.snapshot.tags.all()]
        matches = [asdict(match) for match in one.matches]
        yield record_of(one.snapshot, tags=tags, matches=matches, **came_to[one.snapshot.pk])


def _say(out: Output, found: FoundSnapshot) -> None:
    """Title and URL, then where the words are, a line each."""
    snapshot = found.snapshot
    out.say(snapshot.title or snapshot.url)
    out.say(f"  {snapshot.url}  {snapshot.pk}")
    for match in found.matches:
        if match.where not in ("title", "url"):
            out.say(f"  {match.where}: {match.snippet}")
    out.say("")
