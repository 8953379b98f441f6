"""Owns what is known of the answers in WARCs: a database in a file, because there may be millions of them."""

import io
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from archivebox.imports.answer import (
    header_of,
    parse_date,
    read_header_lines,
    read_status,
    redirect_of,
)
from archivebox.imports.readers.warc_records import LocatedRecord, RecordScan, WarcSource
from archivebox.lib.mime_sniffing import parse_content_type
from archivebox.lib.urls import MAX_LENGTH, BadUrl, parse_url

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
