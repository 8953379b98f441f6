"""Owns deleting from the object store what nothing needs any more: by rows, and what has no row."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.utils import timezone

from archivebox.base_models.rows import first_id
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.work import lease_clock
from archivebox.config.page_storage import object_store, storage_settings
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.page_storage.uploading import BODIES, COLLECTION, PAGES
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

    An object goes before its row, which is marked first: a page that is sealed meanwhile does not use it.
    """
    grace = storage_settings().grace
    with write_transaction():
        rows = list(StoredObject.objects.unused_for(grace).order_by("unused_at")[:BATCH])
        users = StoredObject.bodies.through.objects.filter(to_storedobject=OuterRef("pk"))
        free = StoredObject.objects.filter(~Exists(users), pk__in=[row.pk for row in rows])
        free = free.filter(unused_at__lt=lease_clock() - grace)
        keys = set(free.select_for_update().values_list("pk", flat=True))
        StoredObject.objects.filter(pk__in=keys).update(is_deleted=True)
        StoredObject.objects.filter(pk__in=[row.pk for row in rows if row.pk not in keys]).update(unused_at=None)
    gone = [row for row in rows if row.pk in keys]
    _delete(gone)
    report.objects += len(gone)
    report.bytes += sum(row.size for row in gone)
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
    for prefix in (PAGES, BODIES):
        for listed in batches(store.list(prefix), BATCH):
            old = {one.key: one.size for one in listed if one.modified < before}
            unknown = _without_row(list(old))
            store.delete(unknown)
            report.unknown += len(unknown)
            report.bytes += sum(old[key] for key in unknown)
        for uploads in batches(store.uploads(prefix), BATCH):
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
    """The objects, then their rows; bodies that no other page has are unused from now on."""
    object_store().delete([row.key for row in rows])
    keys: list[UUID] = [row.pk for row in rows]
    with write_transaction():
        bodies = list(StoredObject.objects.filter(pages__in=keys).values_list("pk", flat=True).distinct())
        StoredObject.objects.filter(pk__in=keys).delete()
        users = StoredObject.bodies.through.objects.filter(to_storedobject=OuterRef("pk"))
        left = StoredObject.objects.filter(~Exists(users), pk__in=bodies, unused_at__isnull=True)
        left.update(unused_at=lease_clock())
