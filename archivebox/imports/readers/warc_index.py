"""Finds the records of WARCs, however large, past what is damaged, and keeps where each answer lies."""

import io
import re
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, cast

from archivebox.imports.answers import (
    header_of,
    parse_date,
    read_header_lines,
    read_status,
    redirect_of,
)
from archivebox.lib.files import SeekableReader
from archivebox.lib.mime_sniffing import parse_content_type
from archivebox.lib.urls import MAX_LENGTH, BadUrl, parse_url
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
    """One WARC: its name, a file or a part of one, and how to open it; ``packed``: its size before it was unpacked."""

    name: str
    size: int
    open: Callable[[], BinaryIO]
    packed: int = sys.maxsize


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


# --- the index --------------------------------------------------------------------------------------------------------
_SCHEMA = """
    CREATE TABLE answer (
        id INTEGER PRIMARY KEY, source INTEGER, offset INTEGER, record TEXT, concurrent TEXT, type TEXT, url TEXT,
        time REAL, status INTEGER, mime TEXT, location TEXT, page TEXT, refers_record TEXT, refers_url TEXT,
        refers_time REAL, method TEXT DEFAULT 'GET', referrer TEXT DEFAULT '', destination TEXT DEFAULT '',
        by_script INTEGER DEFAULT 0, request_source INTEGER, request INTEGER, hops TEXT
    );
    CREATE TABLE request (
        source INTEGER, offset INTEGER, record TEXT, concurrent TEXT, url TEXT, time REAL, method TEXT, referrer TEXT,
        destination TEXT, by_script INTEGER
    );
    CREATE TABLE note (concerns TEXT, hops TEXT);
    CREATE TABLE frame (url TEXT PRIMARY KEY);
    CREATE TABLE page (
        number INTEGER PRIMARY KEY, key TEXT UNIQUE, answer INTEGER, url TEXT, time REAL, title TEXT, text INTEGER,
        problem TEXT
    );
    CREATE TABLE damage (item TEXT, reason TEXT);
"""
_JOIN = """
    CREATE INDEX answer_record ON answer (record);
    CREATE INDEX request_record ON request (record);
    CREATE INDEX request_concurrent ON request (concurrent);
    CREATE INDEX note_concerns ON note (concerns);
    UPDATE answer SET (method, referrer, destination, by_script, request_source, request) =
        (SELECT method, referrer, destination, by_script, source, offset FROM request
         WHERE request.concurrent = answer.record OR request.record = answer.concurrent LIMIT 1)
        WHERE EXISTS (SELECT 1 FROM request
         WHERE request.concurrent = answer.record OR request.record = answer.concurrent);
    UPDATE answer SET hops = (SELECT hops FROM note WHERE concerns = answer.record LIMIT 1)
        WHERE EXISTS (SELECT 1 FROM note WHERE concerns = answer.record);
    CREATE INDEX answer_url ON answer (url, time);
    CREATE INDEX answer_referrer ON answer (referrer, time);
    CREATE INDEX answer_page ON answer (page);
    CREATE INDEX answer_time ON answer (time);
    CREATE INDEX answer_location ON answer (location, time);
    CREATE INDEX page_answer ON page (answer);
"""
_COLUMNS = "id, source, offset, type, url, time, status, mime, location, page, refers_record, refers_url, refers_time, method, referrer, destination, request_source, request, hops"  # noqa: E501
_HOPS = re.compile(rb"^hopsFromSeed: *([A-Z]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class IndexedAnswer:
    """One answer. ``request``: where its request lies, in the file ``request_source``.

    ``hops``: how a crawler came to it.
    """

    id: int
    source: int
    offset: int
    type: str
    url: str
    time: float
    status: int
    mime: str
    location: str
    page: str
    refers_record: str
    refers_url: str
    refers_time: float | None
    method: str
    referrer: str
    destination: str
    request_source: int
    request: int | None
    hops: str | None

    @property
    def date(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)


class WarcIndex:
    """The answers of some WARCs, and the pages that are among them."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.database.execute("PRAGMA journal_mode = OFF")
        self.database.execute("PRAGMA synchronous = OFF")

    def close(self) -> None:
        self.database.close()

    def fill(self, sources: Sequence[WarcSource], since: float, stop: Callable[[], None]) -> Iterator[int]:
        """Read them all; yields the number of each that is packed as one, which is unpacked and read by itself.

        ``since``: the time of records that name none.
        """
        self.database.executescript(_SCHEMA)
        for number, source in enumerate(sources):
            if self.fill_one(number, source, since, stop):
                yield number

    def fill_one(self, number: int, source: WarcSource, since: float, stop: Callable[[], None]) -> bool:
        """Read one; whether it is packed as one. ``stop`` is called before each record, and may raise."""
        scan = RecordScan(source)
        self.database.execute("BEGIN")
        for record in scan:
            stop()
            self._index_record(number, record, since)
        rows = ((f"{source.name}, byte {each.offset}", each.reason) for each in scan.damage)
        self.database.executemany("INSERT INTO damage VALUES (?, ?)", rows)
        self.database.execute("COMMIT")
        return scan.is_one_member

    def join(self) -> None:
        """Bring together what several records say of one answer."""
        self.database.executescript(_JOIN)
        self.database.execute("BEGIN")
        for revisit in self.answers("type = 'revisit' AND status IN (0, 304)"):
            original = self.original_of(revisit)
            if original is not None:  # what was not sent again is what it was
                row = (original.status, original.mime, original.location, revisit.id)
                self.database.execute("UPDATE answer SET status = ?, mime = ?, location = ? WHERE id = ?", row)
        self.database.execute("COMMIT")

    def answers(self, where: str, *values: object) -> Iterator[IndexedAnswer]:
        """Those for which a condition holds."""
        with closing(self.database.execute(f"SELECT {_COLUMNS} FROM answer WHERE {where}", values)) as rows:  # noqa: S608 - ours
            while row := rows.fetchone():
                yield IndexedAnswer(*row)

    def nearest(self, url: str, time: float) -> IndexedAnswer | None:
        """The best answer to a GET of ``url``: a success before a failure, then the one nearest in time."""
        order = "status >= 400, abs(time - ?) LIMIT 1"
        return next(
            self.answers(f"url = ? AND method = 'GET' AND status NOT IN (0, 304) ORDER BY {order}", url, time), None
        )

    def original_of(self, revisit: IndexedAnswer) -> IndexedAnswer | None:
        """The answer whose body a revisit record speaks of (WARC 1.1, 6.7); None where it is in another file."""
        if revisit.refers_record:
            found = next(self.answers("record = ? AND type != 'revisit'", revisit.refers_record), None)
            if found is not None:
                return found
        time = revisit.time if revisit.refers_time is None else revisit.refers_time
        where = "url = ? AND type != 'revisit' AND status NOT IN (0, 304) ORDER BY abs(time - ?) LIMIT 1"
        return next(self.answers(where, revisit.refers_url or revisit.url, time), None)

    def _index_record(self, source: int, record: LocatedRecord, since: float) -> None:
        kind = record.fields.get("warc-type", "")
        if kind == "metadata":
            self._index_metadata(record)
            return
        url = plain_url(record.fields.get("warc-target-uri", ""))
        if not url or kind not in {"response", "revisit", "resource", "request"}:
            return
        date = parse_date(record.fields.get("warc-date", ""))
        time = since if date is None else date.timestamp()
        if kind == "request":
            self._index_request(source, record, url, time)
        else:
            self._index_response(source, record, url, time)

    def _index_metadata(self, record: LocatedRecord) -> None:
        found = _HOPS.search(record.head)
        concerns = record.fields.get("warc-concurrent-to") or record.fields.get("warc-refers-to")
        if found and concerns:
            self.database.execute("INSERT INTO note VALUES (?, ?)", (concerns, found[1].decode()))

    def _index_request(self, source: int, record: LocatedRecord, url: str, time: float) -> None:
        file = io.BytesIO(record.head)
        method = file.readline().split(b" ")[0][:20].decode("latin-1").upper()
        headers = read_header_lines(file)
        by_script = header_of(headers, "x-requested-with").lower() == "xmlhttprequest"
        fields = record.fields
        row = (
            source, record.offset, fields.get("warc-record-id", ""), fields.get("warc-concurrent-to", ""), url, time,
            method, plain_url(header_of(headers, "referer")), header_of(headers, "sec-fetch-dest").lower(), by_script,
        )  # fmt: skip
        self.database.execute("INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _index_response(self, source: int, record: LocatedRecord, url: str, time: float) -> None:
        fields, kind = record.fields, record.fields["warc-type"]
        status, mime, location = 200, parse_content_type(fields.get("content-type", "")).essence, ""
        if kind != "resource":
            file = io.BytesIO(record.head)
            status, _ = read_status(file)
            headers = read_header_lines(file)
            mime = parse_content_type(header_of(headers, "content-type")).essence
            location = redirect_of(url, status, header_of(headers, "location"))
        refers = parse_date(fields.get("warc-refers-to-date", ""))
        row = {
            "source": source, "offset": record.offset, "record": fields.get("warc-record-id", ""),
            "concurrent": fields.get("warc-concurrent-to", ""), "type": kind, "url": url, "time": time,
            "status": status, "mime": mime, "location": location, "page": fields.get("warc-page-id", ""),
            "refers_record": fields.get("warc-refers-to", ""),
            "refers_url": plain_url(fields.get("warc-refers-to-target-uri", "")),
            "refers_time": None if refers is None else refers.timestamp(),
        }  # fmt: skip
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        self.database.execute(f"INSERT INTO answer ({names}) VALUES ({marks})", row)  # noqa: S608 - ours


def plain_url(text: str) -> str:
    """A URL of the web in its one way of writing, without what leads to a part of it; empty for others.

    wget has written URLs in angle brackets.
    """
    text = text.strip().removeprefix("<").removesuffix(">")
    if not text.startswith(("http://", "https://")) or len(text) > MAX_LENGTH:
        return ""
    try:
        return parse_url(text).without_fragment
    except BadUrl:
        return ""
