"""Owns what is answered for a recorded URL: which bytes, of which type, changed or as they came."""

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from archivebox.lib.htmltrial import TangledError
from archivebox.replay.addresses import Place
from archivebox.replay.files import parse_range
from archivebox.replay.index import Index, Recorded, indices
from archivebox.replay.pages import HTML, circle_page, missing_page
from archivebox.replay.records import opened
from archivebox.replay.rewriting.document import LARGE, Document, Kind
from archivebox.replay.rewriting.text import decode
from archivebox.replay.rewriting.xml import connects

LARGEST_TEXT = 32 * 1024 * 1024
"""Bytes of a document or style sheet that are changed, and shown: its tree takes up to fifty times as much memory."""
DOCUMENTS = frozenset({"text/html", "application/xhtml+xml"})
_SAVED = re.compile(r"text/(csv|markdown|calendar|tab-separated-values|yaml|x-\w+)", re.IGNORECASE)
"""Text that browsers save instead of showing it, which no archived page may have them do."""
_PARTS = re.compile(r"multipart/[^;]*", re.IGNORECASE)
"""Answers in parts, of which some browsers take each part's own headers: cookies, and where to go on."""
_XML = re.compile(r"(?:application|text)/xml|.*\+xml")
_SVG = "image/svg+xml"
_DRAWN = re.compile(rb"<\?xml-stylesheet|http://www\.w3\.org/")
"""What says at the beginning of XML that browsers draw it: by a style sheet, or as XHTML or SVG."""
_SPAN = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the browser asks for: a URL, in which place, with scripts or not, and which part of it."""

    place: Place
    url: str
    scripts: bool = False
    range: str = ""


@dataclass
class Reply:
    """An answer; whoever has it calls ``close``. ``read`` blocks.

    ``is_clean``: a document without what would have a browser connect elsewhere, or say where it comes from.
    """

    status: int
    mimetype: str
    size: int
    read: Callable[[int], bytes]
    headers: dict[str, str] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None
    is_clean: bool = False


class LargeDocumentError(Exception):
    """It takes long and much memory to rewrite it: few are done at a time."""


def reply_to(folder: Path, asked: Asked, *, apart: bool = False) -> Reply:
    """What is answered from the snapshot in ``folder``. Blocks.

    ``apart``: a large document is rewritten in a process of its own; without, there is a LargeDocumentError for it.
    """
    index = indices.of(folder)
    found = index.find(asked.url)
    if found is None:
        return _page(
            404, missing_page(asked.url, asked.place, index.failures.get(asked.url, ""), scripts=asked.scripts)
        )
    if index.leads_in_circles(found):
        return _page(508, circle_page(asked.url))
    if found.response.redirected_to:
        return Reply(302, HTML, 0, _nothing, {"location": asked.place.address(found.response.redirected_to)})
    with ExitStack() as stack:
        reply = _recorded(folder, asked, index, found, stack, apart=apart)
        reply.close = stack.pop_all().close
        return reply


def whole(mimetype: str, body: bytes, status: int = 200, *, is_clean: bool = False) -> Reply:
    """An answer that is made already."""
    return Reply(status, mimetype, len(body), BytesIO(body).read, is_clean=is_clean)


def _page(status: int, body: bytes) -> Reply:
    reply = whole(HTML, body, status)
    reply.headers["cache-control"] = "no-store"
    return reply


def _nothing(_size: int) -> bytes:
    return b""


def _recorded(folder: Path, asked: Asked, index: Index, found: Recorded, stack: ExitStack, *, apart: bool) -> Reply:
    if found.response.status == 206:
        return _piece(folder, asked, index.pieces(found), stack)
    headers, body = stack.enter_context(opened(folder, found.head))
    mimetype = headers.get("content-type") or found.response.mime or "application/octet-stream"
    if found.body is None:
        return Reply(found.response.status, mimetype, 0, _nothing)
    if found.body != found.head:
        _, body = stack.enter_context(opened(folder, found.body))
    kind = mimetype.partition(";")[0].strip().lower()
    if kind in DOCUMENTS or kind == "text/css":
        if found.size > LARGE and not apart:
            raise LargeDocumentError
        sort = Kind.CSS if kind == "text/css" else Kind.HTML
        document = Document(sort, mimetype, str(folder), found.response.url, asked.place, asked.scripts)
        data = body.read(min(found.size, LARGEST_TEXT))
        return _changed(document, found.response.status, data, apart=found.size > LARGE)
    if is_xml(kind):
        return xml(mimetype, body.read(min(found.size, LARGEST_TEXT)), found.response.status)
    return _as_it_came(asked, found, _PARTS.sub("application/octet-stream", _SAVED.sub("text/plain", mimetype)), body)


def _changed(document: Document, status: int, data: bytes, *, apart: bool) -> Reply:
    """A document or style sheet whose URLs lead into the archive, in UTF-8."""
    try:
        written = document.rewrite_apart(data) if apart else document.rewrite(data)
    except TangledError:
        return source(decode(data, document.mimetype), status)
    return whole(
        f"text/{'css' if document.kind is Kind.CSS else 'html'}; charset=utf-8", written, status, is_clean=True
    )


def is_xml(kind: str) -> bool:
    """Whether browsers take a media type, in lower case and without parameters, for XML."""
    return _XML.fullmatch(kind) is not None


def xml(mimetype: str, data: bytes, status: int = 200) -> Reply:
    """XML that nobody draws is shown as its source, because the tree that browsers make of it takes their own scripts;
    and what would connect elsewhere.
    """
    is_drawn = mimetype.lower().startswith(_SVG) or _DRAWN.search(data, 0, 1024)
    if is_drawn and not connects(data):
        return whole(mimetype, data, status)
    return source(decode(data, mimetype), status)


def source(text: str, status: int = 200) -> Reply:
    """What browsers are not to draw, as it is written."""
    return whole("text/plain; charset=utf-8", text.encode("utf-8", "replace"), status)


def _as_it_came(asked: Asked, found: Recorded, mimetype: str, body: BinaryIO) -> Reply:
    more = {"accept-ranges": "bytes"}
    try:
        part = parse_range(asked.range, found.size) if asked.range else None
    except ValueError:
        return Reply(416, mimetype, 0, _nothing, {"content-range": f"bytes */{found.size}"})
    if part is None:
        return Reply(found.response.status, mimetype, found.size, body.read, more)
    start, end = part
    body.seek(start, 1)
    more["content-range"] = f"bytes {start}-{end - 1}/{found.size}"
    return Reply(206, mimetype, end - start, body.read, more)


def _piece(folder: Path, asked: Asked, pieces: list[Recorded], stack: ExitStack) -> Reply:
    """Of what was itself got in pieces (RFC 9110, 14.4): the one that has the first byte that is asked for."""
    for piece in pieces:
        headers, body = stack.enter_context(opened(folder, piece.body or piece.head))
        span = _span(headers)
        if span is None:
            continue
        first, total = span
        start, end = _wanted(asked.range, total)
        if first <= start < first + piece.size:
            body.seek(start - first, 1)
            end = min(end, first + piece.size)
            more = {"accept-ranges": "bytes", "content-range": f"bytes {start}-{end - 1}/{total}"}
            return Reply(206 if asked.range else 200, headers.get("content-type", ""), end - start, body.read, more)
    return Reply(416, "text/plain", 0, _nothing)


def _span(headers: Mapping[str, str]) -> tuple[int, int] | None:
    """The first byte of a piece, and how many there are of the whole."""
    span = _SPAN.match(headers.get("content-range", ""))
    return (int(span[1]), int(span[2]) + 1 if span[3] == "*" else int(span[3])) if span else None


def _wanted(asked: str, total: int) -> tuple[int, int]:
    try:
        return parse_range(asked, total) or (0, total)
    except ValueError:
        return total, total
