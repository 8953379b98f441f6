"""Exports as WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/): recordings with index and list of pages.

The index has a line for each record that can be shown, sorted, in blocks that are packed alone.
"""

import gzip
import heapq
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice, takewhile
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from django.utils import timezone

from archivebox import __version__
from archivebox.export.expanded_records import EXPANDED, whole_recordings
from archivebox.export.pages import ExportedPage
from archivebox.export.writer import Failures, Writer
from archivebox.export.zip_parts import DIRECTORY, ZipMember, ZipPart, end_zip, zip_part
from archivebox.lib import jsonl
from archivebox.lib.warc import read_headers
from archivebox.plugins.base.packing import SHOWN, sort_key
from archivebox.plugins.base.warc import Member, members

CDX, IDX = "index.cdx.gz", "index.idx"
VERSION = "1.1.1"
MOST_TEXT = 64 * 1024
"""Bytes of a page's text that its line has, by which replay programs search."""
NO_RECORDING = "It has no WARC file: no plugin kept one."
PACKAGE, DIGEST = "datapackage.json", "datapackage-digest.json"
PAGES, EXTRA_PAGES, LINES, RESOURCES = "pages.jsonl", "extraPages.jsonl", "cdxj", "resources"


class WaczWriter(Writer):
    """Pages that were asked for are in pages.jsonl, those that a crawl found by their links in extraPages.jsonl."""

    beside = (DIRECTORY, PAGES, EXTRA_PAGES, LINES, RESOURCES, CDX, IDX, PACKAGE, EXPANDED)

    def append(self, pages: Sequence[ExportedPage]) -> Failures:
        with zip_part(self.files) as part:
            return {page.snapshot.pk: NO_RECORDING for page in pages if not self._add(page, part)}

    def _add(self, page: ExportedPage, part: ZipPart) -> bool:
        """Whether there was a recording."""
        recordings, lines = page.recordings(), list[bytes]()
        for number, path in enumerate(whole_recordings(recordings, self.files)):
            name = f"{page.snapshot.pk}-{number}.warc.gz"
            if member := part.add_file(path, f"archive/{name}"):
                self._note(member)
                lines += lines_of(path, name, member.size)
        self.files[LINES].writelines(lines)
        if recordings:
            self._add_page(page, recorded_at(page.snapshot.url, lines))
        return bool(recordings)

    def _add_page(self, page: ExportedPage, recorded: str) -> None:
        one = page.snapshot
        name = EXTRA_PAGES if one.depth else PAGES
        if not self.files[name].tell():
            title = "Pages found by links" if one.depth else "Pages"
            self.files[name].write(jsonl.dumps({"format": "json-pages-1.0", "id": "pages", "title": title}))
        moment = recorded or one.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        about = {"id": str(one.pk), "url": one.url, "ts": moment, "title": one.title or one.url}
        self.files[name].write(jsonl.dumps(about | {"text": page.text(MOST_TEXT)}))

    def _note(self, member: ZipMember) -> None:
        """Have the package list it."""
        name = member.name.rpartition("/")[2].lower()
        about = {"name": name, "path": member.name, "hash": f"sha256:{member.sha256}", "bytes": member.size}
        self.files[RESOURCES].write(jsonl.dumps(about))

    def write_end(self) -> None:
        files = self.files
        if not files[PAGES].tell():
            files[PAGES].write(jsonl.dumps({"format": "json-pages-1.0", "id": "pages", "title": "Pages"}))
        write_index(files[LINES], files[CDX], files[IDX])
        with zip_part(files) as part:
            lists = [PAGES, *([EXTRA_PAGES] if files[EXTRA_PAGES].tell() else [])]
            for place, names in (("indexes", (CDX, IDX)), ("pages", lists)):
                for name in names:
                    self._note(part.add(files[name], f"{place}/{name}"))
            self._write_package()
            package = part.add(files[PACKAGE], PACKAGE)
            digest = {"path": PACKAGE, "hash": f"sha256:{package.sha256}"}
            part.add_bytes(json.dumps(digest).encode(), DIGEST)
        end_zip(files)

    def _write_package(self) -> None:
        """Line by line: there is one for each recording."""
        package, resources = self.files[PACKAGE], self.files[RESOURCES]
        about = {"profile": "data-package", "wacz_version": VERSION, "title": "Pages archived by ArchiveBox"}
        about |= {"created": f"{timezone.now():%Y-%m-%dT%H:%M:%SZ}", "software": f"ArchiveBox {__version__}"}
        package.write(json.dumps(about).encode()[:-1] + b', "resources": [\n')
        resources.seek(0)
        for number, line in enumerate(resources):
            package.write((b",\n" if number else b"") + line.rstrip())
        package.write(b"\n]}\n")
        resources.seek(0, os.SEEK_END)


# --- the index --------------------------------------------------------------------------------------------------------
LINES_OF_BLOCK = 3_000
"""As other programs have them (pywb, ZipNum)."""
SORTED_BYTES = 32 * 1024 * 1024
"""Bytes of lines that are sorted in memory."""
_REQUEST_LINE = 1 << 16


@dataclass(frozen=True, slots=True)
class _IndexedRecord:
    """A record of a WARC, and what its block begins with."""

    fields: dict[str, str]
    first_line: bytes
    http: dict[str, str]

    @classmethod
    def of(cls, member: Member) -> "_IndexedRecord":
        head = io.BytesIO(member.head)
        head.readline()
        fields = read_headers(head)
        is_http = fields.get("content-type", "").startswith("application/http")
        return cls(fields, head.readline(_REQUEST_LINE) if is_http else b"", read_headers(head) if is_http else {})

    @property
    def is_other_request(self) -> bool:
        """Whether it asks otherwise than by GET, which is all that a replay looks up by URL alone."""
        return self.fields.get("warc-type") == "request" and not self.first_line.startswith(b"GET ")

    @property
    def names(self) -> set[str]:
        return {self.fields.get("warc-record-id", ""), self.fields.get("warc-concurrent-to", "")} - {""}

    def line(self, member: Member, name: str) -> bytes:
        url = self.fields.get("warc-target-uri", "").strip("<>")
        moment = re.sub(r"\D", "", self.fields.get("warc-date", ""))[:14]
        about = {"url": url, "mime": self._mime(), "digest": self.fields.get("warc-payload-digest", "")}
        if status := re.match(rb"HTTP/[\d.]+ (\d{3})", self.first_line):
            about["status"] = status[1].decode()
        place = {"length": str(member.end - member.start), "offset": str(member.start), "filename": name}
        return f"{_key(url)} {moment} {json.dumps(about | place)}\n".encode()

    def _mime(self) -> str:
        if self.fields["warc-type"] == "revisit":
            return "warc/revisit"
        fields = self.http if self.first_line else self.fields
        return fields.get("content-type", "").partition(";")[0].strip().lower()


def lines_of(path: Path, name: str, size: int) -> list[bytes]:
    """The lines of one WARC, packed record by record, of which the WACZ has so many bytes under ``name``."""
    found: list[tuple[set[str], bytes]] = []
    unasked: set[str] = set()
    for member in takewhile(lambda member: member.end <= size, members(path)):
        record = _IndexedRecord.of(member)
        if record.fields.get("warc-type") in SHOWN:
            found.append((record.names, record.line(member, name)))
        elif record.is_other_request:
            unasked |= record.names
    return [line for names, line in found if not names & unasked]


def recorded_at(url: str, lines: Iterable[bytes]) -> str:
    """The time of the first record of a page, by which viewers look it up; empty where it has no record of its own."""
    key = _key(url).encode()
    moments = [moment for at, moment, _ in (line.split(b" ", 2) for line in lines) if at == key and moment]
    return re.sub(r"(....)(..)(..)(..)(..)(..)", r"\1-\2-\3T\4:\5:\6Z", min(moments, default=b"").decode())


def write_index(lines: BinaryIO, packed: BinaryIO, blocks: BinaryIO) -> None:
    """Sort ``lines`` into ``packed``; ``blocks`` says with which line each block of it begins, and where it lies."""
    blocks.write(f'!meta 0 {{"format": "cdxj-gzip-1.0", "filename": "{CDX}"}}\n'.encode())
    ordered = _sorted(lines, Path(str(packed.name)).parent)
    while block := list(islice(ordered, LINES_OF_BLOCK)):
        data = gzip.compress(b"".join(block), mtime=0)
        about = {"offset": packed.tell(), "length": len(data), "digest": f"sha256:{sha256(data).hexdigest()}"}
        begin = b" ".join(block[0].split(b" ", 2)[:2])
        blocks.write(b"%s %s\n" % (begin, json.dumps(about | {"filename": CDX}).encode()))
        packed.write(data)


def _sorted(lines: BinaryIO, folder: Path) -> Iterator[bytes]:
    """In the order of bytes, with no more of them in memory than said above."""
    lines.seek(0)
    runs: list[Iterable[bytes]] = []
    while some := lines.readlines(SORTED_BYTES):
        run = TemporaryFile(dir=folder)  # noqa: SIM115 - closed with the last line
        run.writelines(sorted(some))
        run.seek(0)
        runs.append(run)
    return heapq.merge(*runs)


def _key(url: str) -> str:
    try:
        return sort_key(url).replace(" ", "%20")
    except ValueError:  # no URL that could be taken apart
        return url.lower().replace(" ", "%20")
