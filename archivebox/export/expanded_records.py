"""Owns WARC files of pages as exports have them: whole, and without records of other pages.

A `revisit` record that refers to a body becomes a `response` record with that body (WARC 1.1, 6.7).
"""

import errno
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from archivebox.export.writer import PartFiles
from archivebox.lib.warc import NotWarcError, RecordBlock, open_record
from archivebox.plugins.base.warc import Member, members
from archivebox.plugins.base.warc_file import WarcRecord, render_header
from archivebox.storage.shared_files import is_linked_name

_OF_A_REVISIT = frozenset(
    {
        "WARC-Type", "WARC-Profile", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date",
        "WARC-Block-Digest", "Content-Length",
    }
)  # fmt: skip
"""Fields that do not hold for the whole record."""
_HEAD_END = b"\r\n\r\n"
_LINE, _COPY = 1 << 16, 1 << 20
"""Bytes of an HTTP header line at most; bytes copied at a time."""


EXPANDED = "expanded"
"""The file beside an export that has a WARC file of a page with whole records, while it is copied."""


def whole_recordings(paths: Sequence[Path], beside: PartFiles) -> Iterator[Path]:
    """What is to be written of a page's WARC files, each until the next is asked for."""
    if not any(is_linked_name(path.name) for path in paths):
        yield from paths
        return
    yield from ExpandedRecords(paths).files(beside[EXPANDED])
    beside[EXPANDED].truncate(0)


def end_of_records(path: Path) -> int:
    """Where the last whole record of a WARC ends; all of it is read."""
    return max((member.end for member in members(path)), default=0)


class _Place(NamedTuple):
    """Where a gzip member begins."""

    path: Path
    start: int


class ExpandedRecords:
    """The WARC files of one page, read once to know what refers to what."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._responses: dict[str, _Place] = {}
        self._referred: dict[Path, set[str]] = {path: set() for path in paths}
        self._asked: set[str] = set()
        for path in paths:
            for member in members(path):
                self._note(path, member)

    def _note(self, path: Path, member: Member) -> None:
        fields = _record_of(member).fields
        match fields.get("WARC-Type"):
            case "response":
                self._responses[fields.get("WARC-Record-ID", "")] = _Place(path, member.start)
            case "revisit":
                self._referred[path].add(fields.get("WARC-Refers-To", ""))
            case "request":
                self._asked.add(fields.get("WARC-Concurrent-To", ""))

    def files(self, scratch: BinaryIO) -> Iterator[Path]:
        """Each file with whole records: as it is, or where it refers to others written to ``scratch``, until the next.

        Left out are records of other pages, which this one has only for their bodies.
        """
        for path in self._paths:
            if is_linked_name(path.name):
                if self._is_own(path):
                    yield path
            elif self._referred[path] & self._responses.keys():
                self._write(path, scratch)
                yield Path(scratch.name)
            else:
                yield path

    def _is_own(self, path: Path) -> bool:
        ids = [key for key, place in self._responses.items() if place.path == path]
        referred = set().union(*self._referred.values())
        return any(key in self._asked or key not in referred for key in ids)

    def _place_of(self, member: Member) -> _Place | None:
        """Where the record is that a `revisit` record of the page refers to; None for other records."""
        fields = _record_of(member).fields
        if fields.get("WARC-Type") != "revisit":
            return None
        return self._responses.get(fields.get("WARC-Refers-To", ""))

    def _write(self, path: Path, out: BinaryIO) -> None:
        out.seek(0)
        out.truncate()
        with path.open("rb") as source:
            for member in members(path):
                place = self._place_of(member)
                if place is None or not _expand(member, place, out):
                    source.seek(member.start)
                    out.write(source.read(member.end - member.start))
        out.flush()


def _record_of(member: Member) -> WarcRecord:
    return WarcRecord(0, member.head.partition(_HEAD_END)[0] + _HEAD_END)


def _expand(revisit: Member, place: _Place, out: BinaryIO) -> bool:
    """Write the headers of the one and the body of the other as a `response` record; False if that is damaged."""
    start = out.tell()
    try:
        _write_response(revisit, place, out)
    except (OSError, NotWarcError):
        out.seek(start)
        out.truncate()
        return False
    return True


def _write_response(revisit: Member, place: _Place, out: BinaryIO) -> None:
    record = _record_of(revisit)
    head = revisit.head[record.body_offset :][: record.block_size].partition(_HEAD_END)[0] + _HEAD_END
    fields = {name: value for name, value in record.fields.items() if name not in _OF_A_REVISIT}
    with place.path.open("rb") as source, gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed:
        source.seek(place.start)
        _, block = open_record(source, is_packed=True)
        _skip_http_head(block)
        packed.write(render_header("response", fields, len(head) + block.left) + head)
        while data := block.read(_COPY):
            packed.write(data)
        if block.left:
            raise OSError(errno.EIO, "A record of it is damaged", str(place.path))
        packed.write(_HEAD_END)


def _skip_http_head(block: RecordBlock) -> None:
    while block.readline(_LINE) not in {b"\r\n", b"\n", b""}:
        pass
