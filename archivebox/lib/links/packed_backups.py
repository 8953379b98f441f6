"""Owns reading the backups of bookmarks that Firefox keeps in its profile (``bookmarkbackups/*.jsonlz4``)."""

import io
from collections.abc import Iterator
from typing import BinaryIO

import lz4.block

from archivebox.lib.links.link import LARGEST_DOCUMENT, Link, LinkFileError
from archivebox.lib.links.records import read as read_json
from archivebox.lib.links.text import whole

MAGIC = b"mozLz40\0"


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """After the mark come the number of bytes (32 bits, little-endian) and a block of LZ4 (lz4.js of Firefox)."""
    content = whole(file)
    packed = content.removeprefix(MAGIC)
    if packed == content:
        raise LinkFileError("is not a packed backup of Firefox's bookmarks")
    if int.from_bytes(packed[:4], "little") > LARGEST_DOCUMENT:
        raise LinkFileError(f"unpacks to more than {LARGEST_DOCUMENT // 1_000_000} MB")
    try:
        plain = lz4.block.decompress(packed)
    except (lz4.block.LZ4BlockError, ValueError) as error:
        raise LinkFileError(f"cannot be unpacked ({error})") from None
    yield from read_json(io.BytesIO(plain))
