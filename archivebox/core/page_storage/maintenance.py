"""Owns what is done to all objects of the store: deleting what nothing needs, comparing them with their rows, copying.

What was copied before is left out, so that a copy that was interrupted goes on where it was.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef
from django.db.models.functions import Collate
from django.utils import timezone

from archivebox.base_models.rows import first_id
from archivebox.base_models.transactions import write_transaction
from archivebox.config.page_storage import object_store, storage_settings
from archivebox.core.page_storage.folder import CopyNote, local_folder, read_note, write_note
from archivebox.core.page_storage.stored_object import COLLECTION, PAGES, StoredObject
from archivebox.core.page_storage.uploading import COLLECTION_DATA, store_page
from archivebox.core.snapshot import Snapshot
from archivebox.lib.batches import batches
from archivebox.lib.object_store import (
    ListedObject,
    ObjectChangedError,
    ObjectMissingError,
    ObjectStore,
    StoreRefusedError,
)

BATCH = 200
"""Objects that are deleted, and rows that are read, at a time."""
_BYTE_ORDER = {"postgresql": "C", "sqlite": "BINARY"}
"""The collation that sorts keys as a store lists them."""


# --- deleting what nothing needs --------------------------------------------------------------------------------------
@dataclass(slots=True)
class StoreGarbage:
    """How much was deleted: objects that nothing needs, uploads that were cut short, and what has no row."""

    objects: int = 0
    uploads: int = 0
    unknown: int = 0
    bytes: int = 0


def collect_unused(report: StoreGarbage) -> bool:
    """Delete a batch of objects whose grace is over; whether there may be more. ObjectStoreError.

    An object goes before its row, which is marked first: nobody copies it meanwhile.
    """
    with write_transaction():
        unused = StoredObject.objects.unused_for(storage_settings().grace).order_by("unused_at")
        rows = list(unused.select_for_update()[:BATCH])
        StoredObject.objects.filter(pk__in=[row.pk for row in rows]).update(is_deleted=True)
    _delete(rows)
    report.objects += len(rows)
    report.bytes += sum(row.size for row in rows)
    return len(rows) == BATCH


def collect_uploads(report: StoreGarbage) -> None:
    """Delete what uploads have left that were cut short. ObjectStoreError."""
    before = first_id(timezone.now() - storage_settings().grace)
    rows = StoredObject.objects.uploading().filter(id__lt=before).exclude(key__startswith=COLLECTION)
    held = Snapshot.objects.filter(pk=OuterRef("snapshot"), owner__isnull=False)
    for batch in batches(rows.filter(~Exists(held)).order_by("id").iterator(), BATCH):
        _delete(batch)
        report.uploads += len(batch)


def collect_unknown(report: StoreGarbage) -> None:
    """Delete objects that have no row, as after a database was restored. ObjectStoreError.

    Only where the store is this collection's alone.
    """
    store, before = object_store(), timezone.now() - storage_settings().grace
    marked = {one.key for one in store.list(COLLECTION)}
    ours = set(StoredObject.objects.filter(key__startswith=COLLECTION).values_list("key", flat=True))
    if not marked <= ours or (not marked and next(iter(store.list(PAGES)), None) is not None):
        raise StoreRefusedError(
            "The store has pages of another or an unknown collection: no objects without a row were deleted."
            " Give each collection a prefix of its own in STORAGE_URL."
        )
    for listed in batches(store.list(PAGES), BATCH):
        old = {one.key: one.size for one in listed if one.modified < before}
        known = set(StoredObject.objects.filter(key__in=old).values_list("key", flat=True))
        unknown = old.keys() - known
        store.delete(unknown)
        report.unknown += len(unknown)
        report.bytes += sum(old[key] for key in unknown)


def _delete(rows: list[StoredObject]) -> None:
    """The objects, then their rows."""
    object_store().delete([row.key for row in rows])
    StoredObject.objects.filter(pk__in=[row.pk for row in rows]).delete()


# --- comparing --------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class StoreVerdict:
    """How many objects are as they were stored, and a sentence for each that is not, or that no row names."""

    same: int = 0
    bytes: int = 0
    problems: list[str] = field(default_factory=list)


def check_store(*, digests: bool) -> StoreVerdict:
    """Compare what the store lists with the rows, and with ``digests`` every byte. ObjectStoreError.

    What does not fit is asked for by itself: it may have been stored or deleted meanwhile, and listings may be late.
    """
    verdict = StoreVerdict()
    for row, listed in _rows_and_objects(object_store()):
        if row is None:
            if listed is not None and not StoredObject.objects.filter(key=listed.key).exists():
                verdict.problems.append(
                    f"{listed.key}: has no row: `archivebox storage gc` deletes it when it is older than STORAGE_GRACE"
                )
        elif row.is_in_use:
            problem = _problem_of(row, listed, digests=digests)
            if not problem:
                verdict.same += 1
                verdict.bytes += row.size
            elif (now := StoredObject.objects.filter(pk=row.pk).first()) is not None and now.is_in_use:
                verdict.problems.append(f"{row.key} (page {row.snapshot}): {problem}")
    return verdict


def _problem_of(row: StoredObject, listed: ListedObject | None, *, digests: bool) -> str:
    if listed is None or listed.size != row.size:
        size = object_store().size_of(row.key)
        if size is None:
            return "missing"
        if size != row.size:
            return f"has {size:,} bytes, and had {row.size:,}"
    try:
        for _ in _whole(row) if digests else ():
            pass
    except ObjectMissingError:
        return "missing"
    except ObjectChangedError:
        return "changed"
    return ""


def _whole(row: StoredObject) -> Iterator[bytes]:
    """The bytes of an object; ObjectChangedError after the last if they are not what was stored."""
    digest = hashlib.sha256()
    for block in object_store().read(row.key):
        digest.update(block)
        yield block
    if digest.hexdigest() != row.sha256:
        raise ObjectChangedError(f"The object {row.key} is damaged: it is not what was stored.")


def _rows_and_objects(store: ObjectStore) -> Iterator[tuple[StoredObject | None, ListedObject | None]]:
    """Each row with its object in a store, a row without one, or an object without a row, in the order of keys."""
    order = Collate("key", _BYTE_ORDER[connection.vendor])
    rows = StoredObject.objects.exclude(key__startswith=COLLECTION).order_by(order).iterator(BATCH)
    row = next(rows, None)
    for listed in store.list(PAGES):
        while row is not None and row.key.encode() < listed.key.encode():
            yield row, None
            row = next(rows, None)
        if row is not None and row.key == listed.key:
            yield row, listed
            row = next(rows, None)
        else:
            yield None, listed
    while row is not None:
        yield row, None
        row = next(rows, None)


# --- copying ----------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class MoveReport:
    """How much was copied, was there before, is only on other machines, and could not be copied, and why."""

    copied: int = 0
    bytes: int = 0
    known: int = 0
    elsewhere: int = 0
    failed: list[str] = field(default_factory=list)

    def add_copy(self, size: int) -> None:
        self.copied += 1
        self.bytes += size


def store_all(report: MoveReport) -> None:
    """Store every sealed page of this data folder that is not in the store. ObjectStoreError."""
    stored = StoredObject.objects.current()
    report.known = stored.count()
    for snapshot in _sealed(~Exists(stored.filter(snapshot=OuterRef("pk")))):
        if not snapshot.path.is_dir():
            report.elsewhere += bool(snapshot.output_dir)
            continue
        try:
            report.add_copy(store_page(snapshot.pk, snapshot.path))
        except OSError as error:
            report.failed.append(f"{snapshot.pk}: {error.strerror or error}")


def fetch_all(report: MoveReport) -> None:
    """Have every stored page in this data folder, where it stays. ObjectStoreError."""
    stored = StoredObject.objects.current()
    for snapshot in _sealed(Exists(stored.filter(snapshot=OuterRef("pk")))):
        note, current = read_note(snapshot.pk), stored.filter(snapshot=snapshot.pk).first()
        if current is None:
            continue
        is_here = note is not None and current.key in note.keys and snapshot.path.is_dir()
        try:
            local_folder(snapshot)
        except (OSError, ObjectMissingError, ObjectChangedError) as error:
            report.failed.append(f"{snapshot.pk}: {error}")
            continue
        write_note(snapshot.pk, CopyNote((current.key,), current.size, is_kept=True))
        if is_here:
            report.known += 1
        else:
            report.add_copy(current.size)


def copy_objects(target: ObjectStore, report: MoveReport) -> None:
    """Copy every object to another store, under the same key. ObjectStoreError."""
    for key in StoredObject.objects.filter(key__startswith=COLLECTION).values_list("key", flat=True):
        target.put(key, [COLLECTION_DATA])
    for row, there in _rows_and_objects(target):  # what is copied meanwhile lies behind what is still to be listed
        if row is None or row.stored_at is None or row.is_deleted:
            continue
        if there is not None and there.size == row.size:
            report.known += 1
            continue
        try:
            target.put(row.key, _whole(row), row.size)
            report.add_copy(row.size)
        except (ObjectMissingError, ObjectChangedError) as error:
            report.failed.append(str(error))


def _sealed(condition: Any) -> Iterator[Snapshot]:
    sealed = Snapshot.objects.filter(condition, status=Snapshot.StatusChoices.SEALED, owner__isnull=True)
    yield from sealed.only("output_dir").order_by("id").iterator(BATCH)
