"""Owns reading one record of a WARC: the headers that a server sent, and the body, never past the record's length."""

import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from archivebox.lib.warc import read_headers
from archivebox.replay.files import NotThereError, open_beneath
from archivebox.replay.locations import Location

_READ = 64 * 1024
_GZIP = 16 + zlib.MAX_WBITS
"""One gzip member, with its checksum (zlib manual, inflateInit2)."""


class RecordBlock:
    """What is in one record, up to its length: lines, then bytes."""

    def __init__(self, file: BinaryIO, size: int, *, can_seek: bool) -> None:
        self._file = file
        self._left = size
        self._can_seek = can_seek

    def readline(self, most: int, /) -> bytes:
        return self._took(self._file.readline, most)

    def read(self, size: int) -> bytes:
        """At most so many of the next bytes; none at the end of the record, or where the file is damaged."""
        return self._took(self._file.read, size)

    def skip(self, size: int) -> None:
        """Go on behind the next bytes."""
        if self._can_seek:
            passed = min(size, self._left)
            self._file.seek(passed, os.SEEK_CUR)
            self._left -= passed
        else:
            while size and (data := self.read(min(size, _READ))):
                size -= len(data)

    def _took(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            data = read(min(size, self._left))
        except (EOFError, zlib.error):
            data = b""
        self._left -= len(data)
        return data


class _Member(io.RawIOBase):
    """The bytes of the one gzip member that begins where ``file`` stands."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._unpacker = zlib.decompressobj(_GZIP)
        self._packed = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview[int]") -> int:  # type: ignore[override]  # typeshed: any buffer
        data = b""
        while not data and not self._unpacker.eof:
            self._packed = self._packed or self._file.read(_READ)
            if not self._packed:
                raise EOFError("the member is not whole")
            data = self._unpacker.decompress(self._packed, len(buffer))
            self._packed = self._unpacker.unconsumed_tail
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def opened(folder: Path, place: Location) -> Iterator[tuple[Mapping[str, str], RecordBlock]]:
    """The headers, names in lower case, and a block that stands at the body's first byte. Blocks.

    NotThereError where the file is gone, or no record is there. The body of a revisit record is empty (WARC 1.1, 6.7).
    Bodies lie as the browser got them, without transfer and content coding.
    """
    with _open_record(folder, place, place.offset) as (_, block):
        yield read_headers(block), block


def read_request_body(folder: Path, place: Location, most: int) -> bytes:
    """The first ``most`` bytes of the body with which was asked for what lies at ``place``; none where none was sent.

    The recorder writes the request behind its answer.
    """
    try:
        with _open_record(folder, place, place.offset + place.length) as (fields, block):
            if fields.get("warc-type") != "request":
                return b""
            read_headers(block)
            return block.read(most)
    except NotThereError:
        return b""


@contextmanager
def _open_record(folder: Path, place: Location, offset: int) -> Iterator[tuple[Mapping[str, str], RecordBlock]]:
    """The fields of the record that begins at ``offset``, and its block."""
    found = open_beneath(folder, [place.folder, place.name])
    with os.fdopen(found.descriptor, "rb") as file:
        file.seek(offset)
        record = io.BufferedReader(_Member(file), _READ) if place.is_packed else file
        try:
            if not record.readline(_READ).startswith(b"WARC/"):
                raise NotThereError("no record begins there")
            fields = read_headers(record)
        except (EOFError, zlib.error) as error:
            raise NotThereError from error
        length = fields.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            raise NotThereError("a record without its length")
        yield fields, RecordBlock(record, int(length), can_seek=not place.is_packed)
