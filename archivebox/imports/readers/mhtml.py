"""Reads MHTML files (RFC 2557), as browsers save a page: its parts become answers, so that replay shows it."""

import binascii
import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import parsedate_to_datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, cast

import ada_url

from archivebox.imports.answers import ArchivedAnswer, PageRecording, as_utc, fill_body, kind_of, text_outputs
from archivebox.imports.document import DOCUMENT_MOST, DocumentReader
from archivebox.imports.import_folder import Scratch
from archivebox.imports.page import ImportedPage, NotImported, NotReadableError, SourceReport
from archivebox.imports.readers.warc_index import plain_url
from archivebox.imports.readers.warc_pages import HTML

ENDINGS = (".mhtml", ".mht")
PARTS_MOST = 10_000
SIZE_MOST = 2_000_000_000
"""Bytes of the parts of one file."""
_LINE_MOST, _HEADER_MOST = 1 << 16, 1 << 18
_IN_MEMORY = 4 << 20
_CID = re.compile(rb"cid:([\w.@%+-]++)")
_KIND = "MHTML file"


@dataclass
class _Part:
    """One part; ``body`` is decoded."""

    headers: Message
    body: IO[bytes]

    @property
    def content_type(self) -> str:
        return " ".join(str(self.headers.get("Content-Type", "application/octet-stream")).split())

    @property
    def location(self) -> str:
        return str(self.headers.get("Content-Location", "")).strip()

    @property
    def name(self) -> str:
        """By which the other parts know it: `cid:…` (RFC 2392)."""
        if self.location.startswith("cid:"):
            return self.location.removeprefix("cid:")
        return str(self.headers.get("Content-ID", "")).strip().strip("<>")


class MhtmlPage:
    """The one page of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            self._header = _read_headers(file)
        self._boundary = str(self._header.get_param("boundary") or "").encode()
        if not self._boundary:
            raise NotReadableError(f"{path} cannot be read as MHTML: it does not say where its parts end.")
        self._scratch: Scratch | None = None

    def report(self) -> SourceReport:
        return SourceReport(_KIND, 1, 1, self._path.stat().st_size)

    def pages(self, after: str = "") -> Iterator[ImportedPage | NotImported]:
        if after:
            return
        self._scratch = self._scratch or Scratch()
        folder = self._scratch.page_folder()
        yield self._read(self._scratch, folder)

    def _read(self, scratch: Scratch, folder: Path) -> ImportedPage | NotImported:
        with self._path.open("rb") as file:
            _read_headers(file)
            parts = _parts(file, self._boundary)
            first = next(parts, None)
            if first is None:
                return NotImported(self._path.name, "No part of it can be read.", self._path.name)
            url = plain_url(str(self._header.get("Snapshot-Content-Location", "")) or first.location)
            if not url:
                return NotImported(self._path.name, "It does not have the URL of its page.", self._path.name)
            rest = list(parts)
        names = _urls_of_names(url, rest)
        recording = PageRecording(folder / "warc", self._date(), _KIND)
        main = self._answer(url, first, names, is_main=True)
        with DocumentReader() as documents:
            content = documents.read(main.head_of_body(DOCUMENT_MOST), url, main.mime, first.content_type)
        recording.add(main)
        for part in rest:
            if location := names.get(part.name, "") or plain_url(part.location):
                recording.add(self._answer(location, part, names))
        outputs = (*recording.close(), *text_outputs(folder, content, main.mime))
        return ImportedPage(
            key=self._path.name, url=url, captured_at=self._date(), title=content.title or self._subject(),
            http_status=200, mime_type=main.mime, outputs=outputs,
            done=partial(scratch.remove, folder),
        )  # fmt: skip

    def _answer(self, url: str, part: _Part, names: dict[str, str], *, is_main: bool = False) -> ArchivedAnswer:
        answer = ArchivedAnswer(url, self._date(), headers=[("Content-Type", part.content_type)], is_main=is_main)
        answer.kind = "Document" if is_main else kind_of(answer.mime)
        part.body.seek(0)
        if answer.mime in {*HTML, "text/css"}:
            data = part.body.read(DOCUMENT_MOST)
            part.body = BytesIO(_CID.sub(lambda found: _led(found[1], names) or found[0], data))
        fill_body(answer, part.body)
        part.body.close()
        return answer

    def _date(self) -> datetime:
        try:
            return as_utc(parsedate_to_datetime(str(self._header.get("Date", ""))))
        except (ValueError, OverflowError):
            return datetime.fromtimestamp(self._path.stat().st_mtime, UTC)

    def _subject(self) -> str:
        subject = str(self._header.get("Subject", ""))
        try:
            return " ".join(str(make_header(decode_header(subject))).split())
        except (MessageError, LookupError, UnicodeError, ValueError):
            return subject


def open_mhtml(path: Path) -> MhtmlPage | None:
    return MhtmlPage(path) if path.is_file() and path.name.lower().endswith(ENDINGS) else None


def _urls_of_names(page: str, parts: list[_Part]) -> dict[str, str]:
    """Where the parts lie that others name by `cid:`: at their own URL, or at one below the page's host."""
    found: dict[str, str] = {}
    taken = {page}
    for part in parts:
        if not part.name or part.name in found:
            continue
        url = plain_url(part.location)
        if not url or url in taken:
            url = str(ada_url.join_url(page, f"/.mhtml/{part.name}"))
        found[part.name] = url
        taken.add(url)
    return found


def _led(name: bytes, names: dict[str, str]) -> bytes:
    return names.get(name.decode("latin-1"), "").encode()


def _read_headers(file: BinaryIO) -> Message:
    lines = b""
    while (line := file.readline(_LINE_MOST)) not in {b"\r\n", b"\n", b""} and len(lines) < _HEADER_MOST:
        lines += line
    return BytesHeaderParser().parsebytes(lines + b"\r\n")


def _parts(file: BinaryIO, boundary: bytes) -> Iterator[_Part]:
    """Each part with its body decoded, a line in memory at a time."""
    mark, size, count = b"--" + boundary, 0, 0
    while (line := file.readline(_LINE_MOST)) and not line.startswith(mark):
        pass
    while line and not line.startswith(mark + b"--") and count < PARTS_MOST and size < SIZE_MOST:
        headers = _read_headers(file)
        body = cast("IO[bytes]", SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - closed when it was taken
        line = _copy_part(file, mark, str(headers.get("Content-Transfer-Encoding", "")).strip().lower(), body)
        size, count = size + body.tell(), count + 1
        yield _Part(headers, body)


def _copy_part(file: BinaryIO, mark: bytes, coding: str, body: IO[bytes]) -> bytes:
    """Returns the line that ends it."""
    left, is_line_start = b"", True
    while line := file.readline(_LINE_MOST):
        if is_line_start and line.startswith(mark):
            break
        is_line_start = line.endswith(b"\n")
        if coding == "base64":
            left = _decode_base64(left + b"".join(line.split()), body)
        elif coding == "quoted-printable":
            body.write(quopri.decodestring(line))
        else:
            body.write(line)
    return line


def _decode_base64(text: bytes, body: IO[bytes]) -> bytes:
    """Write what is whole; returns the rest. What is no base64 is left out."""
    whole = len(text) - len(text) % 4
    try:
        body.write(binascii.a2b_base64(text[:whole]))
    except binascii.Error:
        return b""
    return text[whole:]
