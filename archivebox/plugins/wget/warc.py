"""Makes a WARC whole again whose writer was ended in the middle of a record."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

READ_SIZE = 1 << 16  # bytes
_GZIP = 16 + zlib.MAX_WBITS  # one gzip member, checksum and length verified (zlib manual, inflateInit2)


def cut_to_whole_records(path: Path) -> int:
    """Cut what follows the last complete gzip member, each of which is one record (WARC 1.1, annex D).

    Returns the bytes that are left.
    """
    whole = _length_of_whole_members(path)
    with path.open("r+b") as file:
        file.truncate(whole)
    return whole


def _length_of_whole_members(path: Path) -> int:
    whole = position = 0
    member = zlib.decompressobj(_GZIP)
    with path.open("rb") as file:
        while data := file.read(READ_SIZE):
            while data:
                try:
                    # 1 MB at most of what a member may hold at a time: a page may be a bomb.
                    member.decompress(data, 1 << 20)
                except zlib.error:
                    return whole
                rest = member.unused_data if member.eof else member.unconsumed_tail
                position += len(data) - len(rest)
                data = rest
                if member.eof:
                    whole = position
                    member = zlib.decompressobj(_GZIP)
    return whole
