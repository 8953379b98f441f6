"""What the conformance suite runs over: an object store, and how much of the slow work is worth doing there."""

import hashlib
from collections.abc import Iterator

from archivebox.lib.cloud_store import PART
from archivebox.lib.object_store import BLOCK, ObjectStore

SIZES = (0, 1, 300_000, PART, PART + 1, 2 * PART + 5)
"""Bytes: nothing, one block, two blocks, one request, and several parts."""


def some_bytes(size: int, seed: str = "") -> bytes:
    """Bytes that look random, and are the same each time."""
    return hashlib.shake_128(seed.encode()).digest(size)


def put(store: ObjectStore, key: str, data: bytes, unreadable_from: int | None = None) -> None:
    """Store all of it, or what a disk gives that fails from a position on."""
    store.put(key, _blocks(data, unreadable_from), len(data))


def everything(store: ObjectStore, key: str, start: int = 0, stop: int | None = None) -> bytes:
    return b"".join(store.read(key, start, stop))


def keys(store: ObjectStore, prefix: str = "") -> list[str]:
    return [each.key for each in store.list(prefix)]


def _blocks(data: bytes, unreadable_from: int | None) -> Iterator[bytes]:
    for start in range(0, len(data), BLOCK):
        if unreadable_from is not None and start >= unreadable_from:
            raise OSError(5, "Input/output error")
        yield data[start : start + BLOCK]
