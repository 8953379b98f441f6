"""Owns comparing what rows say of the object store with what is in it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.page_storage.uploading import COLLECTION
from archivebox.lib.object_store import ObjectMissingError

BATCH = 200
"""Rows that are read at a time."""


@dataclass(slots=True)
class StoreVerdict:
    """How many objects are as they were stored, and a sentence for each that is not."""

    same: int = 0
    bytes: int = 0
    problems: list[str] = field(default_factory=list)


def check_store(*, digests: bool) -> StoreVerdict:
    """Compare sizes, and with ``digests`` every byte. ObjectStoreError where the store does not answer."""
    verdict = StoreVerdict()
    rows = StoredObject.objects.filter(stored_at__isnull=False, unused_at__isnull=True, is_deleted=False)
    for row in rows.exclude(key__startswith=COLLECTION).order_by("id").iterator(BATCH):
        problem = _problem_of(row, digests=digests)
        if problem:
            verdict.problems.append(f"{row.key} ({_whose(row)}): {problem}")
        else:
            verdict.same += 1
            verdict.bytes += row.size
    return verdict


def _problem_of(row: StoredObject, *, digests: bool) -> str:
    size = object_store().size_of(row.key)
    if size is None:
        return "missing"
    if size != row.size:
        return f"has {size:,} bytes, and had {row.size:,}"
    if digests:
        try:
            is_same = _digest(object_store().read(row.key)) == row.sha256
        except ObjectMissingError:
            return "missing"
        return "" if is_same else "changed"
    return ""


def _digest(blocks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _whose(row: StoredObject) -> str:
    return f"page {row.snapshot}" if row.snapshot else f"a body that {row.pages.count()} pages share"
