"""Owns making the index anew from the files, in pieces that an interruption does not undo."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.search.backend import SearchBackend

BATCH = 20
"""Snapshots of one query and one call of the engine, after which it is noted how far the index is."""
NOTHING = UUID(int=0)


@dataclass(slots=True)
class ReindexProgress:
    """How far it is: Snapshots done of all that are to be, the texts they had, and the last of them."""

    total: int
    done: int = 0
    texts: int = 0
    last: UUID = NOTHING


def reindex(backend: SearchBackend, only: SnapshotQuerySet) -> Iterator[ReindexProgress]:
    """Index these Snapshots again; the others stay as they are."""
    progress = ReindexProgress(only.count())
    yield from _index_all(backend, only, NOTHING, progress)


def rebuild(backend: SearchBackend) -> Iterator[ReindexProgress]:
    """Forget all and index every Snapshot; after an interruption, go on where that came."""
    rows = Snapshot.objects.kept()
    reached = _reached(backend)
    if reached is None:
        backend.flush()
        reached = _note(backend, NOTHING)
    progress = ReindexProgress(rows.count(), done=rows.filter(id__lte=reached).count())
    for _ in _index_all(backend, rows, reached, progress):
        _note(backend, progress.last)
        yield progress
    DATA_FOLDER.reindexed.unlink(missing_ok=True)


def _index_all(
    backend: SearchBackend, rows: SnapshotQuerySet, after: UUID, progress: ReindexProgress
) -> Iterator[ReindexProgress]:
    """The oldest first, by key: what is added meanwhile is indexed by its own hook, or here."""
    while batch := list(rows.filter(id__gt=after).order_by("id")[:BATCH]):
        progress.texts += backend.index(batch)
        progress.done += len(batch)
        progress.last = after = batch[-1].pk
        yield progress


def _reached(backend: SearchBackend) -> UUID | None:
    """The Snapshot up to which an earlier call came that was interrupted; None where none was."""
    try:
        noted = json.loads(DATA_FOLDER.reindexed.read_text())
        return UUID(noted["snapshot"]) if noted["engine"] == backend.engine else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _note(backend: SearchBackend, snapshot: UUID) -> UUID:
    DATA_FOLDER.reindexed.write_text(json.dumps({"engine": backend.engine, "snapshot": str(snapshot)}))
    return snapshot
