"""Owns keeping the index true to what people remove and bring back."""

from collections.abc import Iterable, Sequence

from archivebox.core.snapshot import Snapshot
from archivebox.lib.batches import batches
from archivebox.search.backend import chosen_backend

BATCH = 500
"""Snapshots of one call."""


def forget(snapshots: Sequence[Snapshot]) -> None:
    """Take their texts out of the index. SearchUnavailableError."""
    backend = chosen_backend()
    if backend is not None:
        for batch in batches(snapshots, BATCH):
            backend.remove(batch)


def learn(snapshots: Iterable[Snapshot]) -> None:
    """Bring their texts into the index again; nobody asks for them where there is none. SearchUnavailableError."""
    backend = chosen_backend()
    if backend is not None:
        with backend.indexing() as indexing:
            for snapshot in snapshots:
                indexing.index(snapshot)
