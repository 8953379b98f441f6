"""Owns how lists of Snapshots are shown."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from archivebox.cli.output import Column, Output
from archivebox.cli.records import pages, record_of
from archivebox.core.models import Snapshot
from archivebox.core.progress.page_states import states_and_counts
from archivebox.core.snapshot import SnapshotQuerySet

ON_A_TERMINAL = 50

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("added", "created_at"),
    Column("status", "status"),
    Column("ok", lambda record: _count(record, "succeeded"), right=True),
    Column("failed", lambda record: _count(record, "failed"), right=True),
    Column("title", "title"),
    Column("url", "url", wraps=True),
)


def show(out: Output, rows: SnapshotQuerySet, limit: int | None) -> None:
    """Snapshots, the newest first; a terminal gets a page of them, a pipe all."""
    bound = limit or (ON_A_TERMINAL if out.is_for_people else None)
    shown = out.table(COLUMNS, snapshot_records(rows, bound), empty="No snapshot matches.")
    if out.is_for_people and limit is None and shown == ON_A_TERMINAL:
        out.say(f"The newest {shown}; --limit shows more.")


def snapshot_records(rows: SnapshotQuerySet, limit: int | None) -> Iterator[dict[str, object]]:
    """Each Snapshot with its tags, its state and how many of its results are in which status."""
    for page in pages(rows.prefetch_related("tags"), limit):
        came_to = came_to_of(page)
        for snapshot in page:
            tags = [tag.name for tag in snapshot.tags.all()]
            yield record_of(snapshot, tags=tags, **came_to[snapshot.pk])


def came_to_of(page: list[Snapshot]) -> dict[UUID, dict[str, object]]:
    """Snapshot key → its state, and status → how many of its results; one query for all."""
    return {key: {"state": state.value, "results": counts} for key, (state, counts) in states_and_counts(page).items()}


def _count(record: Any, status: str) -> object:
    return record["results"].get(status, "")
