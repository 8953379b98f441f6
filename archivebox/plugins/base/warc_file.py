"""Plain WARC 1.1 files (ISO 28500:2017): records written one after the other, and whole ones found again."""

from __future__ import annotations

import os
import re
import time
import uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from gzip import GzipFile
    from typing import IO

VERSION = b"WARC/1.1\r\n"
HEAD_MAX = 1 << 16  # bytes of a record's own header; ours have a few hundred, and URLs are bounded
COPY_SIZE = 1 << 20  # bytes
_FIELD = re.compile(rb"^([A-Za-z0-9-]+): (.*)\r$", re.MULTILINE)


class WarcRecord:
    """One record as it lies in a file: `offset` and `length` of all of it, `fields` of its header."""

    __slots__ = ("body_offset", "fields", "length", "offset")

    def __init__(self, offset: int, head: bytes) -> None:
        self.offset = offset
        self.fields: dict[str, str] = {
            name.decode(): value.decode("utf-8", "replace") for name, value in _FIELD.findall(head)
        }
        self.body_offset = offset + len(head)
        self.length = len(head) + int(self.fields["Content-Length"]) + len(b"\r\n\r\n")

    @property
    def type(self) -> str:
        return self.fields["WARC-Type"]

    @property
    def identifier(self) -> str:
        return self.fields["WARC-Record-ID"]

    @property
    def block_size(self) -> int:
        return int(self.fields["Content-Length"])


class WarcWriter:
    """Appends records to a file; each is whole on the file system before `write` returns."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = open(path, "ab")  # noqa: SIM115  (closed by `close`)

    def write(
        self, kind: str, fields: Mapping[str, str], head: bytes = b"", body: IO[bytes] | None = None
    ) -> WarcRecord:
        """Append a record of a type whose block is `head` and then all of `body`; `fields` with an empty value are
        left out. `WARC-Record-ID`, `WARC-Date` and `Content-Length` come by themselves.
        """
        size = len(head) + (body.seek(0, os.SEEK_END) if body else 0)
        header = render_header(kind, fields, size)
        record = WarcRecord(self._file.tell(), header)
        self._file.write(header + head)
        if body:
            body.seek(0)
            while piece := body.read(COPY_SIZE):
                self._file.write(piece)
        self._file.write(b"\r\n\r\n")
        self._file.flush()
        return record

    def close(self) -> None:
        self._file.close()


def moment(seconds: float | None = None) -> str:
    """Return a time as WARC-Date has it, in UTC with microseconds; now, where none is given."""
    seconds = time.time() if seconds is None else seconds
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06}Z"


def new_record_id() -> str:
    return f"<urn:uuid:{uuid.uuid4()}>"


def read_records(path: str) -> Iterator[WarcRecord]:
    """Yield the whole records from the start of a file up to what is none."""
    with open(path, "rb") as file:
        size, offset = os.fstat(file.fileno()).st_size, 0
        while (record := record_at(file, offset)) and record.offset + record.length <= size:
            yield record
            offset += record.length


def cut_to_whole_records(path: str) -> int:
    """Cut what follows the last whole record of a file that was written when its writer died; return what is left."""
    end = 0
    for record in read_records(path):
        end = record.offset + record.length
    os.truncate(path, end)
    return end


def render_header(kind: str, fields: Mapping[str, str], size: int) -> bytes:
    """Return the header of a record whose block has so many bytes; fields with an empty value are left out."""
    given = {"WARC-Type": kind, "WARC-Record-ID": new_record_id(), "WARC-Date": moment(), **fields}
    lines = [f"{name}: {' '.join(value.split())}" for name, value in given.items() if value]
    return VERSION + "\r\n".join([*lines, f"Content-Length: {size}", "", ""]).encode()


def record_at(file: IO[bytes] | GzipFile, offset: int) -> WarcRecord | None:
    """Return the record that begins at a place of a plain file; None where none does."""
    file.seek(offset)
    head, end, _ = file.read(HEAD_MAX).partition(b"\r\n\r\n")
    if not (head.startswith(VERSION) and end and b"\r\nContent-Length: " in head):
        return None
    return WarcRecord(offset, head + end)
