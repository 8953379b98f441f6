"""Owns archives that tests make by hand, and imported pages as they lie in a collection."""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from archivebox.imports.page import ImportedPage, InterruptibleReader, NotImported, Reader
from archivebox.imports.readers.warc import ArchivePages
from archivebox.plugins.base.warc_file import WarcWriter
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.recorded import RecordedRequest, reply_to

FILES = Path(__file__).with_name("files")
"""Made of one small site by wget 1.21, py-wacz 0.5, Playwright with Chromium (HAR), Chromium (MHTML) and SingleFile."""
PLACE = ReplayContext("token", "http://127.0.0.1:8000", "20261122090000")
DATE = "2024-05-06T07:08:09.123456Z"


@dataclass(frozen=True)
class Said:
    """One answer of a server."""

    url: str
    body: bytes = b""
    type: str = "text/html"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    date: str = DATE
    page: str = ""
    method: str = "GET"
    hops: str | None = None


def write_warc(path: Path, answers: Iterable[Said]) -> list[str]:
    """Write them as a plain WARC; returns the ids of the records."""
    writer, identifiers = WarcWriter(str(path)), []
    for one in answers:
        lines = [f"HTTP/1.1 {one.status} Said", *([f"Content-Type: {one.type}"] if one.type else [])]
        head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in one.headers.items()), "", ""])
        fields = {"WARC-Target-URI": one.url, "WARC-Date": one.date}
        http = {"Content-Type": "application/http; msgtype=response", "WARC-Page-ID": one.page}
        record = writer.write("response", fields | http, head.encode() + one.body)
        sent = [f"{one.method} / HTTP/1.1", *(f"{name}: {value}" for name, value in one.asked.items()), "", ""]
        writer.write("request", fields | {"WARC-Concurrent-To": record.identifier}, "\r\n".join(sent).encode())
        if one.hops is not None:
            note = f"via: http://a.example/\r\nhopsFromSeed: {one.hops}\r\n".encode()
            writer.write("metadata", fields | {"WARC-Concurrent-To": record.identifier}, note)
        identifiers.append(record.identifier)
    writer.close()
    return identifiers


def write_revisit(path: Path, url: str, date: str, **fields: str) -> None:
    writer = WarcWriter(str(path))
    named = {f"WARC-{name.replace('_', '-')}": value for name, value in fields.items()}
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Visit: second\r\n\r\n"
    writer.write("revisit", {"WARC-Target-URI": url, "WARC-Date": date, **named}, head)
    writer.close()


def read(reader: Reader | None) -> tuple[list[ImportedPage], list[NotImported]]:
    """All that a reader yields."""
    assert reader
    items = list(reader.pages())
    pages = [one for one in items if isinstance(one, ImportedPage)]
    return pages, [one for one in items if isinstance(one, NotImported)]


class StoppedError(Exception):
    """What ends a reader in a test."""


def assert_stops(reader: Reader | None) -> None:
    """Reading ends with what ``stop`` raises."""
    assert isinstance(reader, InterruptibleReader)

    def stop() -> None:
        raise StoppedError

    reader.stop = stop
    with pytest.raises(StoppedError):
        reader.report()


def count_stops(reader: Reader | None) -> int:
    """How often ``stop`` is called while the first page is made; what the last of these calls raises ends it."""
    assert isinstance(reader, ArchivePages)
    reader.report()
    count, last = 0, 0

    def stop() -> None:
        nonlocal count
        count += 1
        if count == last:
            raise StoppedError

    reader.stop = stop
    next(reader.pages())
    last, count = count, 0
    with pytest.raises(StoppedError):
        next(reader.pages())
    return last


class ImportedFolder:
    """A page as it lies in a collection."""

    def __init__(self, page: ImportedPage, folder: Path) -> None:
        self.folder = folder
        for output in page.outputs:
            for file in output.files:
                target = folder / output.plugin / file.name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.source, target)

    def replay(self, url: str) -> tuple[int, str, bytes]:
        """What replay answers: status, type, the whole body."""
        answer = reply_to(self.folder, RecordedRequest(PLACE, url), apart=True)
        try:
            return answer.status, answer.mimetype, b"".join(iter(lambda: answer.read(1 << 16), b""))
        finally:
            answer.close()

    @property
    def urls(self) -> list[str]:
        lines = (self.folder / "responses" / "index.jsonl").read_text().splitlines()
        return [json.loads(line)["url"] for line in lines]

    @property
    def text(self) -> str:
        return (self.folder / "htmltotext" / "htmltotext.txt").read_text()
