"""Owns `archivebox search`."""

from dataclasses import asdict
from typing import Any

from archivebox.base_models.visibility import EVERYTHING
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import ON_A_TERMINAL, came_to_of
from archivebox.cli.output import Output
from archivebox.cli.records import record_of
from archivebox.cli.select import is_chosen, pointed_at, snapshots
from archivebox.cli.session import Session
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.finding import ORDERS, FoundSnapshot, find, sortable
from archivebox.search.query import QueryError, chosen
from archivebox.search.query.selection import MOST_HITS

UNANSWERED = 1
"""Exit status where the texts could not be searched."""


def run(session: Session, *, terms: tuple[str, ...], limit: int | None, sort: str | None, **choice: Any) -> int:
    """What is found says where the words are."""
    query = " ".join(terms)
    if not query.strip():
        raise BadInputError("Enter at least one word to search for.")
    out, code, among = session.out, 0, snapshots(**choice) if is_chosen(choice) else None
    try:
        selection = chosen(query, EVERYTHING, among=among)
    except QueryError as error:
        raise BadInputError(pointed_at(query, error)) from None
    except SearchUnavailableError as problem:
        out.warn(f"Only titles, URLs and tags were searched. {problem}")
        selection, code = chosen(query, EVERYTHING, among=among, texts=False), UNANSWERED
    order = ORDERS[sort] if sort else None
    selection = sortable(selection, sort or "")
    _show(out, find(selection, limit or (ON_A_TERMINAL if out.is_for_people else MOST_HITS), order))
    return code


def _show(out: Output, found: list[FoundSnapshot]) -> None:
    if out.is_for_people:
        for one in found:
            _say(out, one)
        if not found:
            out.say("No results. `archivebox manage reindex` indexes what was archived before.")
        return
    came_to = came_to_of([one.snapshot for one in found])
    for one in found:
        tags = [tag.name for tag in one.snapshot.tags.all()]
        matches = [asdict(match) for match in one.matches]
        out.record(record_of(one.snapshot, tags=tags, matches=matches, **came_to[one.snapshot.pk]))


def _say(out: Output, found: FoundSnapshot) -> None:
    """Title and URL, then where the words are, a line each."""
    snapshot = found.snapshot
    out.say(snapshot.title or snapshot.url)
    out.say(f"  {snapshot.url}  {snapshot.pk}")
    for match in found.matches:
        if match.where not in ("title", "url"):
            out.say(f"  {match.where}: {match.snippet}")
    out.say("")
