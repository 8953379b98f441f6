"""One answer of a server as archives keep it: read out of the block of a record, or made of a file."""

import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import IO, cast

import ada_url

from archivebox.imports.http_body import ByteSource, copy_body
from archivebox.lib.mime_sniffing import is_javascript_type, parse_content_type
from archivebox.lib.warc import LineSource

Headers = Sequence[tuple[str, str]]

_IN_MEMORY = 4 << 20
_LINE_MOST, _LINES_MOST = 1 << 16, 1000
_STATUS_LINE = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})(?: +([^\r\n]*))?")
_HTML = frozenset({"text/html", "application/xhtml+xml"})


@dataclass
class ArchivedAnswer:
    """``body``: decoded, to be read from its start, or None. ``request``: the head of the request, and what it sent.

    ``kind``: what it was loaded as, in the words of the browser's protocol: Document, Image, … ``truncated``: a word of
    WARC-Truncated where it is not whole.
    """

    url: str
    date: datetime
    status: int = 200
    reason: str = ""
    headers: Headers = ()
    body: IO[bytes] | None = None
    size: int = 0
    sha256: str = ""
    method: str = "GET"
    request: bytes = b""
    referrer: str = ""
    kind: str = ""
    is_main: bool = False
    truncated: str = ""
    sent: Headers = field(default=())

    @property
    def mime(self) -> str:
        return parse_content_type(header_of(self.headers, "content-type")).essence

    @property
    def redirected_to(self) -> str:
        return redirect_of(self.url, self.status, header_of(self.headers, "location"))

    def head_of_body(self, most: int) -> bytes:
        if self.body is None:
            return b""
        self.body.seek(0)
        return self.body.read(most)

    def close(self) -> None:
        if self.body is not None:
            self.body.close()


def header_of(headers: Headers, name: str) -> str:
    """The last one of that name, in lower case; empty where there is none."""
    return next((value for key, value in reversed(headers) if key.lower() == name), "")


def redirect_of(url: str, status: int, location: str) -> str:
    """Where an answer leads to; empty where it does not."""
    if not location or status not in {301, 302, 303, 307, 308}:
        return ""
    try:
        return str(ada_url.join_url(url, location)).partition("#")[0]
    except (ValueError, UnicodeError):
        return ""


def read_status(file: LineSource) -> tuple[int, str]:
    """Status and reason of the answer at whose status line ``file`` stands; 0 where it has none."""
    found = _STATUS_LINE.match(file.readline(_LINE_MOST))
    return (int(found[1]), (found[2] or b"").decode("latin-1").strip()) if found else (0, "")


def read_header_lines(file: LineSource) -> list[tuple[str, str]]:
    """Names and values up to the empty line."""
    headers: list[tuple[str, str]] = []
    for _ in range(_LINES_MOST):
        line = file.readline(_LINE_MOST)
        if line in {b"\r\n", b"\n", b""}:
            break
        name, colon, value = line.partition(b":")
        if colon and name.strip():
            headers.append((name.strip().decode("latin-1"), value.strip().decode("utf-8", "replace")))
    return headers


def fill_body(answer: ArchivedAnswer, source: ByteSource) -> None:
    """Take the body, decoded as its headers say; UnknownCodingError."""
    file = cast("IO[bytes]", SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - closed with the page that it is for
    transfer, content = (header_of(answer.headers, name) for name in ("transfer-encoding", "content-encoding"))
    answer.truncated = copy_body(source, transfer, content, cast("io.BufferedRandom", file)) or answer.truncated
    answer.size = file.tell()
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    answer.body, answer.sha256 = file, digest.hexdigest()


def kind_of(mime: str, destination: str = "") -> str:
    """What an answer was loaded as, by Sec-Fetch-Dest (Fetch Metadata, 2.1), else by its type."""
    named = _DESTINATIONS.get(destination)
    if named:
        return named
    family = mime.partition("/")[0]
    if mime in _HTML:
        return "Document"
    if mime == "text/css":
        return "Stylesheet"
    if is_javascript_type(mime):
        return "Script"
    return {"image": "Image", "font": "Font", "audio": "Media", "video": "Media"}.get(family, "Other")


_DESTINATIONS = {
    "document": "Document", "iframe": "Document", "frame": "Document", "embed": "Document", "object": "Document",
    "style": "Stylesheet", "script": "Script", "image": "Image", "font": "Font", "audio": "Media", "video": "Media",
    "track": "Media", "empty": "Fetch", "manifest": "Manifest", "worker": "Script", "sharedworker": "Script",
    "serviceworker": "Script",
}  # fmt: skip


def parse_date(text: str) -> datetime | None:
    """A moment as ISO 8601 has it, with fractions up to nanoseconds; UTC where it names no zone."""
    shortened = re.sub(r"(\.\d{6})\d+", r"\1", text.strip())
    try:
        return as_utc(datetime.fromisoformat(shortened))
    except (ValueError, OverflowError):
        return None


def as_utc(moment: datetime) -> datetime:
    """The same moment in UTC, which one without a zone is in; OverflowError before the year 1 and after 9999."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
