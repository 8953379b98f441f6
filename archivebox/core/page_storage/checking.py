"""Owns comparing what rows say of the object store with what is in it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import connection
from django.db.models.functions import Collate

from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.page_storage.uploading import COLLECTION, PAGES
from archivebox.lib.object_store import ListedObject, ObjectMissingError, ObjectStore

BATCH = 1000
"""Rows that are read at a time; a store lists as many objects in one answer."""
NO_ROW = "has no row: `archivebox storage gc` deletes it when it is older than STORAGE_GRACE"
_BYTE_ORDER = {"postgresql": "C", "sqlite": "BINARY"}
"""The collation that sorts keys as a store lists them."""


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
    for row, listed in rows_and_objects(object_store()):
        if row is None:
            if listed is not None and not StoredObject.objects.filter(key=listed.key).exists():
                verdict.problems.append(f"{listed.key}: {NO_ROW}")
        elif _is_in_use(row):
            _check(row, listed, verdict, digests=digests)
    return verdict


def rows_and_objects(store: ObjectStore) -> Iterator[tuple[StoredObject | None, ListedObject | None]]:
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


def _is_in_use(row: StoredObject) -> bool:
    return row.stored_at is not None and row.unused_at is None and not row.is_deleted


def _check(row: StoredObject, listed: ListedObject | None, verdict: StoreVerdict, *, digests: bool) -> None:
    is_as_listed = listed is not None and listed.size == row.size
    problem = "" if is_as_listed else _problem_of_size(row)
    if not problem and digests:
        problem = _problem_of_bytes(row)
    if not problem:
        verdict.same += 1
        verdict.bytes += row.size
    elif (now := StoredObject.objects.filter(pk=row.pk).first()) is not None and _is_in_use(now):
        verdict.problems.append(f"{row.key} (page {row.snapshot}): {problem}")


def _problem_of_size(row: StoredObject) -> str:
    size = object_store().size_of(row.key)
    if size is None:
        return "missing"
    return "" if size == row.size else f"has {size:,} bytes, and had {row.size:,}"


def _problem_of_bytes(row: StoredObject) -> str:
    try:
        is_same = _digest(object_store().read(row.key)) == row.sha256
    except ObjectMissingError:
        return "missing"
    return "" if is_same else "changed"


def _digest(blocks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()
