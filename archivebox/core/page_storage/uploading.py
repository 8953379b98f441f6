"""Owns storing the files of a page: its row first, then the object, then that the page needs it.

A page is stored by its seal. One that was not (it is imported, or was written to since) is marked by its note on this
machine, before its rows are written: a kill leaves a mark too many.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import lock_names, write_transaction
from archivebox.base_models.work import lease_clock
from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.folder import (
    CopyNote,
    copy_lock,
    drop_note,
    note_path,
    noted_copies,
    read_note,
    write_note,
)
from archivebox.core.page_storage.stored_object import COLLECTION, PAGES, StoredObject
from archivebox.core.snapshot import Snapshot
from archivebox.lib.batches import batches
from archivebox.machine.host import Machine
from archivebox.storage.page_archive import PageArchive

log = logging.getLogger(__name__)

COLLECTION_DATA = b"{}\n"
BATCH = 200
"""Pages whose rows are read at a time."""
ABANDONED = timedelta(days=1)
"""After so long a mark without a page is one of an import that was cut short."""


@dataclass(frozen=True, slots=True)
class PageUpload:
    """The rows of the object that a page will have, and of the one that says whose store it is; both are on record."""

    page: StoredObject
    collection: StoredObject


def store_page(snapshot: UUID, folder: Path) -> int:
    """Store a sealed page that nobody holds, and adopt that; the bytes of its object. ObjectStoreError, OSError."""
    upload = begin_upload(snapshot)
    send_page(upload, folder, lambda: True)
    with write_transaction():
        adopt(upload)
    note_adopted(upload)
    return upload.page.size


def begin_upload(snapshot: UUID) -> PageUpload:
    """Put on record what is about to be stored."""
    machine = Machine.current().pk
    with write_transaction():
        key = f"{PAGES}{snapshot}/{new_id()}.zip"
        page = StoredObject.objects.create(snapshot=snapshot, machine=machine, key=key)
        markers = StoredObject.objects.filter(key__startswith=COLLECTION)
        if (marker := markers.first()) is None:  # whichever machine is the first
            lock_names([COLLECTION])
            marker = markers.first() or StoredObject.objects.create(key=f"{COLLECTION}{new_id()}", machine=machine)
        return PageUpload(page, marker)


def send_page(upload: PageUpload, folder: Path, may_go_on: Callable[[], bool]) -> None:
    """Store the page, and note that the folder has the files of either object. ObjectStoreError, OSError.

    Blocks; asks no database. Nothing may write into the folder. InterruptedError as soon as ``may_go_on`` says no.
    """
    if upload.collection.stored_at is None:
        object_store().put(upload.collection.key, [COLLECTION_DATA])
    page, archive = upload.page, PageArchive(folder)
    object_store().put(page.key, _interruptible(archive.blocks(), may_go_on), archive.files_size)
    page.size, page.sha256, page.directory = archive.size, archive.sha256, archive.directory
    former = read_note(page.page)
    write_note(page.page, CopyNote((*(former.keys[-1:] if former else ()), page.key), page.size))


def adopt(upload: PageUpload) -> None:
    """Have the page use what was stored from here on: in the transaction that seals it."""
    page, now = upload.page, lease_clock()
    StoredObject.objects.current().filter(snapshot=page.snapshot).exclude(pk=page.pk).update(unused_at=now)
    rows = StoredObject.objects.filter(pk=page.pk)
    rows.update(stored_at=now, size=page.size, sha256=page.sha256, directory=page.directory)
    StoredObject.objects.filter(pk=upload.collection.pk).update(stored_at=now)


def note_adopted(upload: PageUpload) -> None:
    """Note, after the seal, that only the later object counts: from now on the copy may be deleted."""
    write_note(upload.page.page, CopyNote((upload.page.key,), upload.page.size))


def disown(snapshots: Sequence[UUID]) -> None:
    """Have the objects of pages deleted after the grace: in the transaction that deletes the pages."""
    StoredObject.objects.filter(snapshot__in=snapshots, unused_at__isnull=True).update(unused_at=lease_clock())


def _interruptible(blocks: Iterator[bytes], may_go_on: Callable[[], bool]) -> Iterator[bytes]:
    for block in blocks:
        if not may_go_on():
            raise InterruptedError("The upload was interrupted.")
        yield block


# --- pages that their seal did not store ------------------------------------------------------------------------------
def mark_unstored(snapshots: Iterable[UUID]) -> None:
    """Have pages stored that are about to be sealed, and were never stored. OSError."""
    for snapshot in snapshots:
        write_note(snapshot, CopyNote((), 0, changed=True))


def store_marked(may_go_on: Callable[[], bool], snapshots: Iterable[UUID] | None = None) -> int:
    """Store what is marked on this machine, or is among these pages, as long as it may; how many. ObjectStoreError.

    A page that cannot be read stays marked, and is tried again with the next look.
    """
    count = 0
    for keys in batches(noted_copies() if snapshots is None else snapshots, BATCH):
        marked = [key for key in keys if (note := read_note(key)) is not None and note.changed]
        rows = Snapshot.objects.in_bulk(marked)
        for key in marked:
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
