"""Owns reading WARC records: headers, none longer than headers are, and what is in a record, never past its length."""

import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, Protocol

_LINE_MOST = 1 << 16
"""Bytes of one header line."""
_LINES_MOST = 1000
_BLOCK = 1 << 20
_READ = 64 * 1024
_GZIP = 16 + zlib.MAX_WBITS
"""One gzip member, with its checksum (zlib manual, inflateInit2)."""
_IN_PARTS = frozenset({"content-security-policy"})
"""Headers of which an answer may have several, and all count (Content Security Policy 3, 3.1)."""


class NotWarcError(ValueError):
    """Where a record should begin stands something else."""


class LineSource(Protocol):
    """What has lines: a file, or a part of one."""

    def readline(self, size: int, /) -> bytes: ...


def read_headers(file: LineSource) -> dict[str, str]:
    """The lines up to the empty one, names in lower case; the first, which has no name, comes with its first word.

    Of several with one name the last; policies one after the other, separated by commas.
    """
    headers: dict[str, str] = {}
    for _ in range(_LINES_MOST):
        line = file.readline(_LINE_MOST)
        if line in {b"\r\n", b"\n", b""}:
            break
        name, _, value = line.partition(b":")
        key, text = name.strip().lower().decode("latin-1"), value.strip().decode("utf-8", "replace")
        headers[key] = f"{headers[key]}, {text}" if key in _IN_PARTS and key in headers else text
    return headers


def records(file: BinaryIO, head: int) -> Iterator[tuple[dict[str, str], bytes]]:
    """Headers of each record, and the first ``head`` bytes of what is in it; NotWarcError, EOFError."""
    while line := file.readline(_LINE_MOST):
        if not line.strip():
            continue
        headers, length = _record_head(line, file)
        content = file.read(min(length, head))
        yield headers, content
        _skip(file, length - len(content))


def _record_head(line: bytes, file: BinaryIO) -> tuple[dict[str, str], int]:
    """Headers and length of the record whose first line is ``line``; NotWarcError."""
    if not line.startswith(b"WARC/"):
        raise NotWarcError(line[:40].decode("latin-1"))
    headers = read_headers(file)
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 19):
        raise NotWarcError("a record without its length")
    return headers, int(length)


def _skip(file: BinaryIO, length: int) -> None:
    while length:
        block = file.read(min(length, _BLOCK))
        if not block:
            raise EOFError("the last record is not whole")
        length -= len(block)


class RecordBlock:
    """What is in one record, up to its length: lines, then bytes."""

    def __init__(self, file: BinaryIO, size: int, *, can_seek: bool) -> None:
        self._file = file
        self._left = size
        self._can_seek = can_seek

    @property
    def left(self) -> int:
        """Bytes of the record that are still to be read; more than 0 at the end of a damaged file."""
        return self._left

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


class GzipMember(io.RawIOBase):
    """The bytes of the one gzip member that begins where ``file`` stands."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._unpacker = zlib.decompressobj(_GZIP)
        self._packed = b""

    @property
    def unused(self) -> int:
        """Bytes of the file that were read and lie behind the end of the member."""
        return len(self._unpacker.unused_data)

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


def open_record(file: BinaryIO, *, is_packed: bool) -> tuple[Mapping[str, str], RecordBlock]:
    """The fields of the record that begins where ``file`` stands, and its block; NotWarcError."""
    record = io.BufferedReader(GzipMember(file), _READ) if is_packed else file
    try:
        return read_record(record, can_seek=not is_packed)
    except (EOFError, zlib.error) as error:
        raise NotWarcError("a record that is not whole") from error


def read_record(record: BinaryIO, *, can_seek: bool) -> tuple[Mapping[str, str], RecordBlock]:
    """The same of a file that is not packed, or of what was unpacked; NotWarcError."""
    fields, length = _record_head(record.readline(_READ), record)
    return fields, RecordBlock(record, length, can_seek=can_seek)
