"""What the conformance suite runs over: an object store, and how much of the slow work is worth doing there."""

import hashlib
import io
from typing import BinaryIO

from archivebox.lib.object_store import ObjectStore
from archivebox.lib.object_store.interface import PART

SIZES = (0, 1, 300_000, PART, PART + 1, 2 * PART + 5)
"""Bytes: nothing, one block, two blocks, one request, and several parts."""


def some_bytes(size: int, seed: str = "") -> bytes:
    """Bytes that look random, and are the same each time."""
    return hashlib.shake_128(seed.encode()).digest(size)


def file_of(data: bytes) -> BinaryIO:
    return io.BytesIO(data)


def everything(store: ObjectStore, key: str, start: int = 0, stop: int | None = None) -> bytes:
    return b"".join(store.read(key, start, stop))


def keys(store: ObjectStore, prefix: str = "") -> list[str]:
    return [each.key for each in store.list(prefix)]


class UnreadableFile(io.BytesIO):
    """Fails as a disk does, from a position on."""

    def __init__(self, data: bytes, unreadable_from: int) -> None:
        super().__init__(data)
        self._unreadable_from = unreadable_from

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() + len(self.getbuffer()[self.tell() :][:size]) > self._unreadable_from:
            raise OSError(5, "Input/output error")
        return super().read(size)
