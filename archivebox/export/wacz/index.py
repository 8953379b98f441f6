"""Owns the index of a WACZ: a line for each record that can be shown, sorted, in blocks that are packed alone."""

import gzip
import heapq
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice, takewhile
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from archivebox.lib.warc import read_headers
from archivebox.plugins.base.packing import SHOWN, sort_key
from archivebox.plugins.base.warc import Member, members

CDX, IDX = "index.cdx.gz", "index.idx"
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
