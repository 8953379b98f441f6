"""Owns going through the records of a WARC, however large: where each lies, and past what is damaged."""

import io
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

from archivebox.lib.seekable_reader import SeekableReader
from archivebox.lib.warc import GzipMember, NotWarcError, RecordBlock, read_record

HEAD = 1 << 16
"""Bytes of a record in which its HTTP headers lie."""
RATIO_MOST, UNPACKED_ALWAYS = 100, 1_000_000_000
"""What unpacks to more than so many times its size, and so many bytes besides, is a bomb."""
_READ = 64 * 1024
_SEARCH = 1 << 20
_RESUMPTIONS_MOST = 1000
"""Damaged places that are passed in one file."""
_PACKED, _PLAIN = b"\x1f\x8b\x08", b"WARC/1."


class ArchiveError(Exception):
    """A file that cannot be read (on); the message says why, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class WarcSource:
    """One WARC: its name, a file or a part of one, and how to open it."""

    name: str
    size: int
    open: Callable[[], BinaryIO]


@dataclass(frozen=True, slots=True)
class LocatedRecord:
    """One record: where it begins, its fields, and the first bytes of its block."""

    offset: int
    fields: Mapping[str, str]
    head: bytes


@dataclass(frozen=True, slots=True)
class DamagedPlace:
    """Where a file cannot be read, and why, for people."""

    offset: int
    reason: str


class FileSlice(SeekableReader):
    """A part of a file, as a file."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        super().__init__(size)
        self._file, self._start = file, start

    def readinto(self, buffer: "bytearray | memoryview[int]") -> int:  # type: ignore[override]  # typeshed: any buffer
        self._file.seek(self._start + self._position)
        data = self._file.read(min(len(buffer), max(0, self.size - self._position)))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def is_packed(file: BinaryIO) -> bool:
    """Whether a WARC is packed."""
    file.seek(0)
    found = file.read(3) == _PACKED
    file.seek(0)
    return found


class RecordScan:
    """Goes through one WARC once; ``damage`` says afterwards what could not be read of it."""

    def __init__(self, source: WarcSource) -> None:
        self._source = source
        self._unpacked = 0
        self.damage: list[DamagedPlace] = []
        self.is_one_member = False
        """Whether all of it was packed as one: then no record can be read alone."""

    def __iter__(self) -> Iterator[LocatedRecord]:
        with self._source.open() as file:
            packed = is_packed(file)
            read = self._read_packed if packed else self._read_plain
            offset = 0
            while offset < self._source.size and not self.is_one_member:
                file.seek(offset)
                try:
                    record, end = read(file, offset)
                except (NotWarcError, EOFError, zlib.error) as error:
                    following = self._resume(file, offset, _PACKED if packed else _PLAIN)
                    self._note(offset, error, following)
                    offset = following
                    continue
                offset = end
                if record is not None:
                    yield record

    def _note(self, offset: int, error: Exception, following: int) -> None:
        if offset == 0 and following >= self._source.size:
            raise ArchiveError("it is not a WARC file: no record begins in it")
        is_last = following >= self._source.size
        what = "The last record is not whole." if is_last else f"A record is damaged: {error}."
        self.damage.append(DamagedPlace(offset, what))
        if len(self.damage) >= _RESUMPTIONS_MOST:
            raise ArchiveError(f"it is damaged in more than {_RESUMPTIONS_MOST} places")

    def _resume(self, file: BinaryIO, offset: int, mark: bytes) -> int:
        """Where the next record may begin."""
        position, before = offset + 1, b""
        file.seek(position)
        while data := file.read(_SEARCH):
            found = (before + data).find(mark)
            if found >= 0:
                return position - len(before) + found
            position += len(data)
            before = data[-len(mark) + 1 :]
        return self._source.size

    def _read_packed(self, file: BinaryIO, offset: int) -> tuple[LocatedRecord | None, int]:
        member = GzipMember(file)
        stream = io.BufferedReader(member, _READ)
        fields, block = read_record(cast("BinaryIO", stream), can_seek=False)
        record = LocatedRecord(offset, fields, self._through(block))
        behind = stream.read(5)
        if behind.strip(b"\r\n"):
            self.is_one_member = True
            return None, offset
        while stream.read(_READ):
            pass
        return record, file.tell() - member.unused

    def _read_plain(self, file: BinaryIO, offset: int) -> tuple[LocatedRecord | None, int]:
        fields, block = read_record(file, can_seek=True)
        head = block.read(HEAD)
        end = file.tell() + block.left
        if end > self._source.size:
            raise EOFError("a record that is not whole")
        file.seek(end)
        while file.read(1) in {b"\r", b"\n"}:
            end += 1
        return LocatedRecord(offset, fields, head), end

    def _through(self, block: RecordBlock) -> bytes:
        """The first bytes; the rest is unpacked, too, because where a member ends is known only then."""
        head = block.read(HEAD)
        self._unpacked += len(head)
        while data := block.read(_READ):
            self._unpacked += len(data)
            if self._unpacked > UNPACKED_ALWAYS + RATIO_MOST * self._source.size:
                raise ArchiveError(
                    f"it unpacks to more than {RATIO_MOST} times its size, which no archive of pages does"
                )
        if block.left:
            raise EOFError("a record that is not whole")
        return head
