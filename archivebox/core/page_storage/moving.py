"""Owns copying all pages: from the data folder to the object store, back, and from one store to another.

What was copied before is left out, so that a copy that was interrupted goes on where it was.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from django.db.models import Exists, OuterRef

from archivebox.config.page_storage import object_store
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.page_storage.checking import rows_and_objects
from archivebox.core.page_storage.copies import CopyNote, read_note, write_note
from archivebox.core.page_storage.folder import local_folder
from archivebox.core.page_storage.stored_object import StoredObject, current_object
from archivebox.core.page_storage.uploading import COLLECTION, COLLECTION_DATA, store_page
from archivebox.core.snapshot import Snapshot
from archivebox.lib.object_store import ObjectChangedError, ObjectMissingError, ObjectStore

BATCH = 200
"""Rows that are read at a time."""


@dataclass(slots=True)
class MoveReport:
    """How much was copied, was there before, is only on other machines, and could not be copied, and why."""

    copied: int = 0
    bytes: int = 0
    known: int = 0
    elsewhere: int = 0
    failed: list[str] = field(default_factory=list)


def store_all(report: MoveReport) -> None:
    """Store every sealed page of this data folder that is not in the store. ObjectStoreError."""
    report.known = StoredObject.objects.current().count()
    stored = StoredObject.objects.current().filter(snapshot=OuterRef("pk"))
    for snapshot in _sealed(~Exists(stored)):
        if not snapshot.path.is_dir():
            report.elsewhere += bool(snapshot.output_dir)
            continue
        try:
            report.bytes += store_page(snapshot.pk, snapshot.path)
            report.copied += 1
        except OSError as error:
            report.failed.append(f"{snapshot.pk}: {error.strerror or error}")


def fetch_all(report: MoveReport) -> None:
    """Have every stored page in this data folder, where it stays. ObjectStoreError."""
    stored = StoredObject.objects.current().filter(snapshot=OuterRef("pk"))
    for snapshot in _sealed(Exists(stored)):
        note, current = read_note(snapshot.pk), current_object(snapshot.pk)
        if current is None:
            continue
        is_here = note is not None and current.key in note.keys and snapshot.path.is_dir()
        try:
            local_folder(snapshot)
        except (OSError, ObjectMissingError, ObjectChangedError) as error:
            report.failed.append(f"{snapshot.pk}: {error}")
            continue
        write_note(snapshot.pk, CopyNote((current.key,), current.size, is_kept=True))
        report.known += is_here
        report.copied += not is_here
        report.bytes += 0 if is_here else current.size


def copy_objects(target: ObjectStore, report: MoveReport) -> None:
    """Copy every object to another store, under the same key. ObjectStoreError."""
    for key in StoredObject.objects.filter(key__startswith=COLLECTION).values_list("key", flat=True):
        target.put_bytes(key, COLLECTION_DATA)
    for row, there in rows_and_objects(target):  # what is copied meanwhile lies behind what is still to be listed
        if row is None or row.stored_at is None or row.is_deleted:
            continue
        if there is not None and there.size == row.size:
            report.known += 1
        else:
            _copy(row, target, report)


def _copy(row: StoredObject, target: ObjectStore, report: MoveReport) -> None:
    with tempfile.TemporaryFile(dir=DATA_FOLDER.run) as file:
        try:
            _receive(row, file)
        except (ObjectMissingError, ObjectChangedError) as error:
            report.failed.append(str(error))
            return
        target.put_file(row.key, file, row.size)
    report.copied += 1
    report.bytes += row.size


def _receive(row: StoredObject, file: BinaryIO) -> None:
    digest = hashlib.sha256()
    for block in object_store().read(row.key):
        digest.update(block)
        file.write(block)
    if digest.hexdigest() != row.sha256:
        raise ObjectChangedError(f"The object {row.key} is damaged: it is not what was stored.")


def _sealed(condition: Any) -> Iterator[Snapshot]:
    sealed = Snapshot.objects.filter(condition, status=Snapshot.StatusChoices.SEALED, owner__isnull=True)
    yield from sealed.only("output_dir").order_by("id").iterator(BATCH)
