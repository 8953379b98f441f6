"""Owns deleting from the object store what nothing needs any more: by rows, and what has no row."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef
from django.utils import timezone

from archivebox.base_models.rows import first_id
from archivebox.base_models.transactions import write_transaction
from archivebox.config.page_storage import object_store, storage_settings
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.page_storage.uploading import COLLECTION, PAGES
from archivebox.core.snapshot import Snapshot
from archivebox.lib.batches import batches
from archivebox.lib.object_store import ObjectStore, StoreRefusedError

BATCH = 200
"""Objects that are deleted at a time."""


@dataclass(slots=True)
class StoreGarbage:
    """How much was deleted: objects that nothing needs, uploads that nobody continues, and what has no row."""

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
    """Delete what was uploaded for so long that nobody continues it. ObjectStoreError."""
    before = first_id(timezone.now() - storage_settings().grace)
    rows = StoredObject.objects.uploading().filter(id__lt=before).exclude(key__startswith=COLLECTION)
    held = Snapshot.objects.filter(pk=OuterRef("snapshot"), owner__isnull=False)
    for batch in batches(rows.filter(~Exists(held)).order_by("id").iterator(), BATCH):
        for row in batch:
            if row.upload:
                object_store().abort_upload(row.key, row.upload)
        _delete(batch)
        report.uploads += len(batch)


def collect_unknown(report: StoreGarbage) -> None:
    """Delete objects and uploads that have no row, as after a database was restored. ObjectStoreError.

    Only where the store is this collection's alone.
    """
    store, before = object_store(), timezone.now() - storage_settings().grace
    _check_is_ours(store)
    for listed in batches(store.list(PAGES), BATCH):
        old = {one.key: one.size for one in listed if one.modified < before}
        unknown = _without_row(list(old))
        store.delete(unknown)
        report.unknown += len(unknown)
        report.bytes += sum(old[key] for key in unknown)
    for uploads in batches(store.uploads(PAGES), BATCH):
        unknown = _without_row([one.key for one in uploads if one.begun < before])
        for one in uploads:
            if one.key in unknown:
                store.abort_upload(one.key, one.upload)
                report.unknown += 1


def _check_is_ours(store: ObjectStore) -> None:
    listed = {one.key for one in store.list(COLLECTION)}
    ours = set(StoredObject.objects.filter(key__startswith=COLLECTION).values_list("key", flat=True))
    is_empty = not listed and next(iter(store.list(PAGES)), None) is None
    if not is_empty and (not listed or not listed <= ours):
        raise StoreRefusedError(
            "The store has pages of another or an unknown collection: no objects without a row were deleted."
            " Give each collection a prefix of its own in STORAGE_URL."
        )


def _without_row(keys: Sequence[str]) -> list[str]:
    known = set(StoredObject.objects.filter(key__in=keys).values_list("key", flat=True))
    return [key for key in keys if key not in known]


def _delete(rows: Sequence[StoredObject]) -> None:
    """The objects, then their rows."""
    object_store().delete([row.key for row in rows])
    StoredObject.objects.filter(pk__in=[row.pk for row in rows]).delete()
