"""Answers of servers as archives keep them: read and decoded within bounds, and written as our recorder leaves them."""

import hashlib
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, Protocol, cast

import ada_url
import brotli

from archivebox.contract.outcomes import Status
from archivebox.imports.document import DocumentContent
from archivebox.imports.page import ImportedFile, ImportedOutput, Stop, do_nothing
from archivebox.lib.mime_sniffing import is_javascript_type, parse_content_type
from archivebox.lib.warc import LineSource
from archivebox.plugins.base.packing import pack
from archivebox.plugins.base.responses import CDXJ, INDEX
from archivebox.plugins.base.warc_file import WarcWriter, new_record_id

BODY_MOST = 750_000_000
"""Bytes of one body, as the recorder keeps of a URL that is itself a file; what is beyond is cut, and marked."""
RATIO_MOST, UNPACKED_ALWAYS = 100, 16_000_000
"""What unpacks to more than so many times its size in the archive, and so many bytes besides, is a bomb: cut there."""
_READ = 64 * 1024
_CHUNK_LINE_MOST = 1024
_SIZE_OF_CHUNK = re.compile(rb"[ \t]*([0-9a-fA-F]{1,15})[ \t]*(;[^\n]*)?\r?\n")
_CODINGS_MOST = 3
CUT, DAMAGED = "length", "unspecified"
"""Words of WARC-Truncated (WARC 1.1, 5.13)."""


class UnknownCodingError(ValueError):
    """The body is packed in a way that cannot be read here; the message names it."""


class ByteSource(Protocol):
    """What bytes are read from: a record, or a file; ``tell``: how many bytes of the archive were read for them."""

    def read(self, size: int, /) -> bytes: ...

    def tell(self) -> int: ...


class _Decoder(Protocol):
    def __call__(self, data: bytes) -> Iterator[bytes]: ...


def copy_body(source: ByteSource, transfer_coding: str, content_coding: str, target: BinaryIO) -> str:
    """Write the body that ``source`` stands at to ``target``; why it is not whole, empty where it is.

    Tools that have undone the coding often leave its header: what is not packed as the header says is kept as it is.
    """
    codings = [each for each in _tokens(content_coding) if each != "identity"]
    unknown = [each for each in codings if each not in _DECODERS]
    if unknown or len(codings) > _CODINGS_MOST:
        raise UnknownCodingError(", ".join(unknown) or content_coding[:100])
    pieces: Iterable[bytes] = iter(lambda: source.read(_READ), b"")
    if "chunked" in _tokens(transfer_coding):
        pieces = _without_chunks(pieces)
    for coding in reversed(codings):
        pieces = _decoded(pieces, _DECODERS[coding])
    written = 0
    try:
        for piece in pieces:
            most = min(BODY_MOST, UNPACKED_ALWAYS + RATIO_MOST * source.tell())
            target.write(piece[: most - written])
            written += len(piece)
            if written > most:
                return CUT
    except (ValueError, EOFError):
        return DAMAGED
    return ""


def _tokens(header: str) -> list[str]:
    return [each for part in header.split(",") if (each := part.strip().lower())]


def _without_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """RFC 9112, 7.1. A body that does not begin with a chunk has been put together already."""
    buffer, source = b"", iter(pieces)
    is_first = True
    while True:
        buffer = _filled(buffer, source)
        found = _SIZE_OF_CHUNK.match(buffer)
        if found is None and is_first:
            yield buffer
            yield from source
            return
        if found is None:
            raise ValueError("a chunk without its length")
        is_first, left = False, int(found[1], 16)
        if left == 0:
            return
        buffer = buffer[found.end() :]
        while left:
            buffer = buffer or next(source, b"")
            if not buffer:
                raise EOFError("a chunk that is not whole")
            yield buffer[:left]
            buffer, left = buffer[left:], max(0, left - len(buffer))
        buffer = _filled(buffer, source)
        buffer = buffer[2:] if buffer.startswith(b"\r\n") else buffer.removeprefix(b"\n")


def _filled(buffer: bytes, source: Iterator[bytes]) -> bytes:
    """At least as much as the line of a chunk's length may take, or all that is left."""
    while len(buffer) < _CHUNK_LINE_MOST and (more := next(source, b"")):
        buffer += more
    return buffer


def _decoded(pieces: Iterable[bytes], make: Callable[[], _Decoder]) -> Iterator[bytes]:
    """What a decoder makes of them; they themselves where it can make nothing of the first."""
    decoder, source = make(), iter(pieces)
    first = next(source, b"")
    beginning = iter(decoder(first))
    try:
        piece = next(beginning, b"")
    except (zlib.error, brotli.error):
        yield first
        yield from source
        return
    try:
        yield piece
        yield from beginning
        for each in source:
            yield from decoder(each)
    except (zlib.error, brotli.error) as error:
        raise ValueError(str(error)) from error


class _Inflate:
    """gzip, of which several members may follow one another; deflate, with or without its header (RFC 9110, 8.4.1)."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._unpacker = zlib.decompressobj(window)
        self._has_begun = False

    def __call__(self, data: bytes) -> Iterator[bytes]:
        if (
            not self._has_begun
            and self._window > 0
            and self._window <= zlib.MAX_WBITS
            and (data[:1] or b"x")[0] & 15 != 8
        ):
            self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        self._has_begun = True
        while data:
            if self._unpacker.eof:
                if not data.startswith(b"\x1f\x8b"):
                    return  # padding behind the end
                self._unpacker = zlib.decompressobj(self._window)
            yield self._unpacker.decompress(data, _READ)
            data = self._unpacker.unused_data if self._unpacker.eof else self._unpacker.unconsumed_tail


class _Brotli:
    """RFC 7932."""

    def __init__(self) -> None:
        self._unpacker = brotli.Decompressor()

    def __call__(self, data: bytes) -> Iterator[bytes]:
        while True:
            yield self._unpacker.process(data, output_buffer_limit=_READ)
            data = b""
            if self._unpacker.can_accept_more_data() or self._unpacker.is_finished():
                return


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": lambda: _Inflate(16 + zlib.MAX_WBITS),
    "x-gzip": lambda: _Inflate(16 + zlib.MAX_WBITS),
    "deflate": lambda: _Inflate(zlib.MAX_WBITS),
    "br": _Brotli,
}


# --- answers ----------------------------------------------------------------------------------------------------------
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


def fill_body(answer: ArchivedAnswer, source: ByteSource) -> bool:
    """Take the body, decoded as its headers say; whether it was too much, and is cut. UnknownCodingError."""
    file = cast("IO[bytes]", SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - closed with the page that it is for
    transfer, content = (header_of(answer.headers, name) for name in ("transfer-encoding", "content-encoding"))
    problem = copy_body(source, transfer, content, cast("io.BufferedRandom", file))
    answer.truncated = problem or answer.truncated
    answer.size = file.tell()
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    answer.body, answer.sha256 = file, digest.hexdigest()
    return problem == CUT


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


# --- writing them -----------------------------------------------------------------------------------------------------
_HTTP = {"request": "application/http; msgtype=request", "response": "application/http; msgtype=response"}
_ENCODED = frozenset({"content-encoding", "transfer-encoding"})
_SECRET = frozenset({"cookie", "authorization", "proxy-authorization", "set-cookie", "set-cookie2"})
"""What names whoever archived, as the recorder leaves it out."""
_LINE_END = re.compile(r"[\r\n]+")
_PLAIN = ".plain.warc"


class PageRecording:
    """The answers of one page; ``folder`` is its own, and is filled with files. ``stop`` may raise."""

    def __init__(self, folder: Path, captured_at: datetime, software: str, stop: Stop = do_nothing) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._stop = folder, stop
        self._session = f"{captured_at.astimezone(UTC):%Y%m%d%H%M%S}.warc"
        self._warc = WarcWriter(str(folder / _PLAIN))
        self._lines: list[dict[str, object]] = []
        self._bodies: dict[str, tuple[str, str, str]] = {}
        self.size = 0
        info = f"software: ArchiveBox\r\nformat: WARC File Format 1.1\r\ndescription: imported from {software}\r\n"
        self._warc.write("warcinfo", {"Content-Type": "application/warc-fields"}, info.encode())

    @property
    def count(self) -> int:
        return len(self._lines)

    def add(self, answer: ArchivedAnswer) -> None:
        """Keep an answer, and close its body."""
        self._stop()
        date = _moment(answer.date)
        identifier, is_revisit = new_record_id(), answer.size > 0 and answer.sha256 in self._bodies
        fields = {
            "WARC-Record-ID": identifier, "WARC-Target-URI": answer.url, "WARC-Date": date,
            "WARC-Truncated": answer.truncated, "WARC-Payload-Digest": f"sha256:{answer.sha256}",
            "Content-Type": _HTTP["response"],
        }  # fmt: skip
        if is_revisit:
            record, url, moment = self._bodies[answer.sha256]
            fields |= {
                "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
                "WARC-Refers-To": record, "WARC-Refers-To-Target-URI": url, "WARC-Refers-To-Date": moment,
            }  # fmt: skip
            written = self._warc.write("revisit", fields, _head(answer))
        else:
            written = self._warc.write("response", fields, _head(answer), answer.body)
            self._bodies[answer.sha256] = identifier, answer.url, date
        if answer.request:
            related = {"WARC-Target-URI": answer.url, "WARC-Date": date, "WARC-Concurrent-To": identifier}
            self._warc.write("request", {**related, "Content-Type": _HTTP["request"]}, _without_secrets(answer.request))
        place = {"warc": self._session, "record": identifier, "offset": written.offset, "length": written.length}
        self._lines.append(_described(answer, self._session) | place | ({"revisit": True} if is_revisit else {}))
        self.size += answer.size
        if answer.body is not None:
            answer.body.close()

    def close(self) -> Iterator[ImportedOutput]:
        """What the plugins that record would have left."""
        self._warc.close()
        name = f"{self._session}.gz"
        packed = self._folder / name
        lines = pack(str(self._folder / _PLAIN), str(packed), stop=self._stop)
        (self._folder / _PLAIN).unlink()
        cdxj, index = self._folder / CDXJ, self._folder / INDEX
        cdxj.write_text("".join(sorted(lines)))
        index.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self._lines))
        summary = f"{self.count} answer{'' if self.count == 1 else 's'}"
        yield ImportedOutput("responses", Status.SUCCEEDED, (ImportedFile(INDEX, str(index)),), summary)
        yield ImportedOutput(
            "warc", Status.SUCCEEDED, (ImportedFile(name, str(packed)), ImportedFile(CDXJ, str(cdxj))), name
        )


def text_outputs(folder: Path, content: DocumentContent, mime: str, text: str = "") -> Iterator[ImportedOutput]:
    """What the plugins for titles and text would have left; ``text``: where the source has its own."""
    folder.mkdir(parents=True, exist_ok=True)
    plugin, name = ("pdftotext", "content.txt") if mime == "application/pdf" else ("htmltotext", "htmltotext.txt")
    text = text if len(text) > len(content.text) else content.text
    if content.title:
        yield _text_output(folder, "title", "title.txt", content.title + "\n")
    if text.strip():
        yield _text_output(folder, plugin, name, text)
    elif not content.is_readable:
        yield ImportedOutput(plugin, Status.FAILED, summary="Reading this page would take too long or too much memory")
    else:
        yield ImportedOutput(plugin, Status.NORESULTS, summary="The page has no text")


def _text_output(folder: Path, plugin: str, name: str, text: str) -> ImportedOutput:
    path = folder / name
    path.write_text(text, encoding="utf-8", errors="replace")
    return ImportedOutput(plugin, Status.SUCCEEDED, (ImportedFile(name, str(path)),), name)


def _described(answer: ArchivedAnswer, session: str) -> dict[str, object]:
    """The line of the recorder's index."""
    redirected_to = answer.redirected_to
    line: dict[str, object] = {
        "url": answer.url, "method": answer.method, "status": answer.status, "type": answer.kind, "mime": answer.mime,
        "size": answer.size, "time": _moment(answer.date), "source": "network", "initiator": answer.referrer,
        "redirected_to": redirected_to, "truncated": answer.truncated, "session": session,
        "sha256": "" if redirected_to else answer.sha256,
    }  # fmt: skip
    line = {name: value for name, value in line.items() if value or name in {"status", "size"}}
    if answer.is_main:
        line |= {"main": True, "reason": answer.reason}
        line |= {"request_headers": _shown(answer.sent), "response_headers": _shown(answer.headers)}
    return line


def _shown(headers: Headers) -> dict[str, str]:
    return {name: "[removed]" if name.lower() in _SECRET else value for name, value in headers}


def _head(answer: ArchivedAnswer) -> bytes:
    """Status line and headers; those that no longer hold are kept under another name, as other tools do."""
    lines = [f"HTTP/1.1 {answer.status} {_LINE_END.sub(' ', answer.reason)}".rstrip()]
    for name, value in answer.headers:
        lower = name.lower()
        if lower in _SECRET:
            continue
        is_gone = lower in _ENCODED or (lower == "content-length" and value != str(answer.size))
        lines.append(f"{'X-Archive-Orig-' if is_gone else ''}{name}: {_LINE_END.sub(' ', value)}")
    if not any(line.lower() == f"content-length: {answer.size}" for line in lines):
        lines.append(f"Content-Length: {answer.size}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")


def _without_secrets(request: bytes) -> bytes:
    head, blank, body = request.partition(b"\r\n\r\n")
    kept = [
        line for line in head.split(b"\r\n") if line.partition(b":")[0].strip().lower().decode("latin-1") not in _SECRET
    ]
    return b"\r\n".join(kept) + (blank or b"\r\n\r\n") + body


def _moment(date: datetime) -> str:
    return f"{date.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
