"""Owns removing Snapshots as people mean it, and bringing them back: in every list, and in the search."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from django.db import models
from django.db.models import Sum

from archivebox.base_models.transactions import write_transaction
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.core.versions.url_versions import restore, retire
from archivebox.search.backend import SearchUnavailableError, forget, learn

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


def size_of(snapshots: "models.QuerySet[Snapshot, Any]") -> int:
    """Bytes that their results kept."""
    rows = ArchiveResult.objects.filter(snapshot__in=snapshots.order_by().values("pk"))
    return rows.aggregate(size=Sum("output_size"))["size"] or 0
