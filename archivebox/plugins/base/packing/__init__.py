"""Packs a plain WARC: each record a gzip member of its own (WARC 1.1, annex D), so that any can be read alone."""

from __future__ import annotations

import os
import zlib

from archivebox.plugins.base.warc_file import COPY_SIZE, read_records

from . import cdxj

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from archivebox.plugins.base.warc_file import WarcRecord

GZIP = 16 + zlib.MAX_WBITS  # zlib manual, deflateInit2
LEVEL = 6
HEAD_SIZE = 1 << 14  # bytes of a block that the index looks at


def pack(source: str, target: str) -> list[str]:
    """Write the whole records of `source` to `target`, packed; return the lines of its index."""
    lines: list[str] = []
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.tmp")
    with open(source, "rb") as plain, open(temporary, "wb") as packed:
        for record in read_records(source):
            offset = packed.tell()
            _pack_one(plain, record, packed)
            if record.type in cdxj.SHOWN:
                plain.seek(record.body_offset)
                head = plain.read(min(record.block_size, HEAD_SIZE))
                lines.append(cdxj.line(record, head, name, offset, packed.tell() - offset))
    os.replace(temporary, target)
    return lines


def _pack_one(plain: BinaryIO, record: WarcRecord, packed: BinaryIO) -> None:
    plain.seek(record.offset)
    left, packer = record.length, zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    while left and (piece := plain.read(min(left, COPY_SIZE))):
        packed.write(packer.compress(piece))
        left -= len(piece)
    packed.write(packer.flush())
