"""Packs a plain WARC: each record a gzip member of its own (WARC 1.1, annex D), so that any can be read alone."""

from __future__ import annotations

import itertools
import os
import re
import zlib

from archivebox.plugins.base.warc_file import COPY_SIZE, WarcRecord, read_records, render_header
from archivebox.storage.shared_bodies import is_linked_name

from . import cdxj
from .sharing import SHARED_MIN, BodySharing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from .sharing import SharedBody

__all__ = ["BodySharing", "is_linked_name", "pack"]

GZIP = 16 + zlib.MAX_WBITS  # zlib manual, deflateInit2
LEVEL = 6
HEAD_SIZE = 1 << 14  # bytes of a block that the index looks at
SAME_BODY = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
HTTP_HEAD_MAX = 1 << 16
_END = b"\r\n\r\n"


def pack(
    source: str, target: str, sharing: BodySharing | None = None, stop: Callable[[], object] = lambda: None
) -> list[str]:
    """Write the whole records of `source` to `target`, packed; return the lines of its index.

    With `sharing`, large bodies go into files of their own beside it, and `revisit` records tell of those that an
    earlier page had. `stop` is called before each part of a record, and may raise.
    """
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.tmp")
    with open(source, "rb") as plain, open(temporary, "wb") as packed:
        lines = _Packer(plain, packed, name, sharing, stop).pack(read_records(source))
    os.replace(temporary, target)
    return lines


class _Packer:
    """One file while it is packed."""

    def __init__(
        self, plain: BinaryIO, packed: BinaryIO, name: str, sharing: BodySharing | None, stop: Callable[[], object]
    ) -> None:
        self._plain, self._packed, self._name, self._sharing, self._stop = plain, packed, name, sharing, stop
        self._lines: list[str] = []
        self._shared: dict[str, SharedBody] = {}  # by digest: those whose line the index has

    def pack(self, records: Iterator[WarcRecord]) -> list[str]:
        for record, following in itertools.pairwise(itertools.chain(records, [None])):
            if record is None:
                break
            if not (self._sharing and self._share(record, following, self._sharing)):
                self._pack_whole(record)
        return self._lines

    def _pack_whole(self, record: WarcRecord) -> None:
        offset = self._packed.tell()
        _pack_one(self._plain, record, self._packed, self._stop)
        if record.type in cdxj.SHOWN:
            self._index(record, self._block(record, HEAD_SIZE), offset)

    def _share(self, record: WarcRecord, following: WarcRecord | None, sharing: BodySharing) -> bool:
        """Have the body in a file of its own; False where the record is packed with the others."""
        digest = _DIGEST.fullmatch(record.fields.get("WARC-Payload-Digest", ""))
        if digest is None:
            return False
        if record.type == "revisit":
            body = sharing.find(digest[1])
        elif self._is_large(record) and self._is_answer_to_get(record, following):
            body = sharing.keep(digest[1], lambda file: _pack_one(self._plain, record, file, self._stop))
        else:
            return False
        if body is None:
            return False
        if digest[1] not in self._shared:
            self._shared[digest[1]] = body
            self._lines.append(body.line)
        if record.identifier != body.record.identifier:
            self._pack_revisit(record, body)
        return True

    def _is_large(self, record: WarcRecord) -> bool:
        if record.type != "response" or record.block_size < SHARED_MIN or "WARC-Truncated" in record.fields:
            return False
        return record.block_size - len(self._http_head(record)) >= SHARED_MIN

    def _is_answer_to_get(self, record: WarcRecord, following: WarcRecord | None) -> bool:
        """What a page sent for others is found behind its answer, which must lie in the same file."""
        if following is None or following.fields.get("WARC-Concurrent-To") != record.identifier:
            return True  # from the browser's cache
        return self._block(following, 4) == b"GET "

    def _pack_revisit(self, record: WarcRecord, body: SharedBody) -> None:
        """Write the record with its own headers, and where its body is."""
        head = self._http_head(record)
        fields = {name: value for name, value in record.fields.items() if name not in ("WARC-Type", "Content-Length")}
        fields = {"WARC-Profile": SAME_BODY} | fields | body.reference
        revisit = WarcRecord(0, header := render_header("revisit", fields, len(head)))
        offset = self._packed.tell()
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self._packed.write(packer.compress(header + head + _END) + packer.flush())
        self._index(revisit, head, offset)

    def _index(self, record: WarcRecord, head: bytes, offset: int) -> None:
        self._lines.append(cdxj.line(record, head, self._name, offset, self._packed.tell() - offset))

    def _http_head(self, record: WarcRecord) -> bytes:
        """Return status line and headers with the empty line; all of a block that has no body."""
        head, end, _ = self._block(record, HTTP_HEAD_MAX).partition(_END)
        return head + end

    def _block(self, record: WarcRecord, size: int) -> bytes:
        self._plain.seek(record.body_offset)
        return self._plain.read(min(record.block_size, size))


def _pack_one(plain: BinaryIO, record: WarcRecord, packed: BinaryIO, stop: Callable[[], object]) -> None:
    plain.seek(record.offset)
    left, packer = record.length, zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    while left and (piece := plain.read(min(left, COPY_SIZE))):
        stop()
        packed.write(packer.compress(piece))
        left -= len(piece)
    packed.write(packer.flush())
