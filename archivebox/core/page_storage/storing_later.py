"""Owns storing sealed pages that were not stored at their seal: imported ones, and those that were written to since.

Their notes on this machine mark them (`copies.py`), before their rows are written: a kill leaves a mark too many.
"""

import logging
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from uuid import UUID

from archivebox.core.page_storage.copies import (
    CopyNote,
    changed_copies,
    copy_lock,
    drop_note,
    note_path,
    read_note,
    write_note,
)
from archivebox.core.page_storage.uploading import store_page
from archivebox.core.snapshot import Snapshot
from archivebox.lib.batches import batches

log = logging.getLogger(__name__)

BATCH = 200
"""Pages whose rows are read at a time."""
ABANDONED = timedelta(days=1)
"""After so long a mark without a page is one of an import that was cut short."""


def mark_unstored(snapshots: Iterable[UUID]) -> None:
    """Have pages stored that are about to be sealed, and were never stored. OSError."""
    for snapshot in snapshots:
        write_note(snapshot, CopyNote((), 0, changed=True))


def store_all_marked(may_go_on: Callable[[], bool]) -> int:
    """Store what is marked on this machine as long as it may; how many pages. ObjectStoreError."""
    return store_marked(changed_copies(), may_go_on)


def store_marked(snapshots: Iterable[UUID], may_go_on: Callable[[], bool]) -> int:
    """Store those of these pages that are marked, one after the other. ObjectStoreError.

    A page that cannot be read stays marked, and is tried again with the next look.
    """
    count = 0
    for keys in batches(snapshots, BATCH):
        rows = Snapshot.objects.in_bulk(keys)
        for key in keys:
            if not may_go_on():
                return count
            if key in rows:
                count += _store(rows[key])
            else:
                _drop_abandoned(key)
    return count


def _store(snapshot: Snapshot) -> bool:
    """One that a worker holds is stored by its seal."""
    if snapshot.status != Snapshot.StatusChoices.SEALED or snapshot.owner is not None:
        return False
    with copy_lock(snapshot.pk, blocking=False) as is_ours:
        note = read_note(snapshot.pk)
        if not is_ours or note is None or not note.changed or not snapshot.path.is_dir():
            return False
        try:
            store_page(snapshot.pk, snapshot.path)
        except OSError as error:
            log.warning("Not stored: %r action=page_not_stored snapshot=%s", error, snapshot.pk)
            return False
    return True


def _drop_abandoned(key: UUID) -> None:
    """The page was deleted, or its import was cut short."""
    try:
        is_old = time.time() - note_path(key).stat().st_mtime > ABANDONED.total_seconds()
    except FileNotFoundError:
        return
    if is_old:
        drop_note(key)
