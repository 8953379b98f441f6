"""Owns removing Snapshots as people mean it, and bringing them back: in every list, and in the search."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Sum

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.core.versions.url_versions import restore, retire
from archivebox.search.backend import SearchUnavailableError, forget, learn
from archivebox.search.query import select

log = logging.getLogger(__name__)


def remove(snapshots: "models.QuerySet[Snapshot, Any]") -> tuple[int, str]:
    """Retire them: nothing lists, serves or finds them any more; their files stay, until retention.

    Returns how many, and a sentence where the search index could not be told. What is removed is shown by no search
    whatever the index says; that it says less is for people's peace.
    """
    chosen = list(snapshots.only("output_dir"))
    count = retire(snapshots)
    return count, _problem_telling(forget, chosen)


def bring_back(
    snapshots: "models.QuerySet[Snapshot, Any]", noting: Callable[[], object] = lambda: None
) -> tuple[int, str]:
    """Undo :func:`remove`. Returns the same. ``noting`` is called in the transaction that restores them.

    The index is told before that transaction, as an engine may take its time. It may be told twice.
    """
    problem = _problem_telling(learn, list(snapshots.only("output_dir")))
    with write_transaction():
        count = restore(snapshots)
        noting()
    return count, problem


def _problem_telling(tell: Callable[[Sequence[Snapshot]], None], snapshots: Sequence[Snapshot]) -> str:
    try:
        tell(snapshots)
    except SearchUnavailableError as problem:
        log.warning("The search index is not up to date: %s action=index_not_told", problem)
        return f"The search index is not up to date. {problem}"
    return ""


MOST_COUNTED = 10_000
"""Pages that are counted, and whose bytes are added up: more take longer than people wait."""


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    """``pages`` and ``size`` (bytes) of all, or, where ``is_more``, of the newest of them; and the first few."""

    pages: int
    size: int
    is_more: bool
    first: list[Snapshot]


def plan_removal(query: str | None, keys: Sequence[UUID], scope: ViewerScope) -> RemovalPlan:
    """What a removal would do. QueryError, SearchUnavailableError."""
    seen = seen_by(scope, Snapshot.objects.kept())
    rows = seen.filter(pk__in=list(keys)) if query is None else select(query, scope, every=True, among=seen)
    found = list(rows.order_by("-pk").values_list("pk", flat=True)[: MOST_COUNTED + 1])
    counted = found[:MOST_COUNTED]
    size = ArchiveResult.objects.filter(snapshot__in=counted).aggregate(size=Sum("output_size"))["size"] or 0
    first = list(Snapshot.objects.filter(pk__in=counted[:5]).order_by("-pk"))
    return RemovalPlan(len(counted), size, len(found) > len(counted), first)
