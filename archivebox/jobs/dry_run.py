"""Owns what a removal would do, before it is done: how many pages, how many bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.snapshot import Snapshot
from archivebox.search.query import select
from archivebox.search.removal import size_of

MOST_COUNTED = 10_000
"""Pages that are counted, and whose bytes are added up: more take longer than people wait."""
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """``pages`` and ``size`` (bytes) of all, or, where ``is_more``, of the newest of them; and the first few."""

    pages: int
    size: int
    is_more: bool
    first: list[Snapshot]


def dry_run(query: str | None, keys: Sequence[UUID], scope: ViewerScope) -> Plan:
    """QueryError, SearchUnavailableError."""
    seen = seen_by(scope, Snapshot.objects.kept())
    rows = seen.filter(pk__in=list(keys)) if query is None else select(query, scope, every=True, among=seen)
    found = list(rows.order_by("-pk").values_list("pk", flat=True)[: MOST_COUNTED + 1])
    counted = found[:MOST_COUNTED]
    first = list(Snapshot.objects.filter(pk__in=counted[:SHOWN]).order_by("-pk"))
    return Plan(len(counted), size_of(Snapshot.objects.filter(pk__in=counted)), len(found) > len(counted), first)
