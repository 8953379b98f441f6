"""Owns what is answered for a recorded URL: which bytes, of which type, changed or as they came."""

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from archivebox.lib.mime_sniffing import MediaType, is_javascript_type, is_xml_type, parse_content_type
from archivebox.lib.warc import RecordBlock
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.answer_type import CSS, inherited_charset, media_type_of
from archivebox.replay.files import parse_range
from archivebox.replay.index import Recorded, RecordingIndex, indices, opened
from archivebox.replay.pages import HTML, missing_page, redirect_loop_page
from archivebox.replay.rewriting.document import Document, DocumentKind, Made
from archivebox.replay.rewritten import DocumentSource, is_large, open_rewritten
from archivebox.replay.scripts.place import ScriptPlace
from archivebox.replay.scripts.policy import policy_of_page

DOCUMENTS = frozenset({"text/html", "application/xhtml+xml"})
_SAVED = re.compile(r"text/(csv|markdown|calendar|tab-separated-values|yaml|x-\w+)", re.IGNORECASE)
"""Text that browsers save instead of showing it, which no archived page may have them do."""
_PARTS = re.compile(r"multipart/[^;]*", re.IGNORECASE)
"""Answers in parts, of which some browsers take each part's own headers: cookies, and where to go on."""
_SPAN = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """What the browser asks for: a URL, in which place, with scripts or not, and which part of it.

    ``is_raw``: a script asks, and gets all bytes as they came. ``found``: the answer, where it was chosen already.
    ``frame``: see :class:`archivebox.replay.addresses.ReplayAddress`.
    """

    place: ReplayContext | ScriptPlace
    url: str
    scripts: bool = False
    range: str = ""
    is_raw: bool = False
    found: Recorded | None = None
    frame: int = 0


@dataclass
class Reply:
    """An answer; whoever has it calls ``close``. ``read`` blocks.

    ``is_clean``: a document without what would have a browser connect elsewhere, or say where it comes from.
    ``page_policy``: what its own policy forbade its scripts and styles.
    """

    status: int
    mimetype: str
    size: int
    read: Callable[[int], bytes]
    headers: dict[str, str] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None
    is_clean: bool = False
    page_policy: str = ""

    def policy(self, ours: str) -> str:
        """The Content-Security-Policy to send: ``ours``, and beside it the page's own."""
        return f"{ours}, {self.page_policy}" if self.page_policy else ours


def reply_to(folder: Path, asked: RecordedRequest, *, apart: bool = False) -> Reply:
    """What is answered from the snapshot in ``folder``. Blocks.

    ``apart``: a large document that is not kept yet is rewritten in a process of its own; without, there is a
    LargeDocumentError for it.
    """
    index = indices.of(folder)
    found = asked.found or index.find_frame(asked.url, asked.frame)
    if found is None:
        return _page(404, missing_page(asked.url, asked.place, index.failures.get(asked.url, "")))
    if index.is_redirect_loop(found):
        return _page(508, redirect_loop_page(asked.url))
    if found.response.redirected_to:
        return Reply(302, HTML, 0, _nothing, {"location": asked.place.address(found.response.redirected_to)})
    with ExitStack() as stack:
        reply = _recorded(folder, asked, index, found, stack, apart=apart)
        stack.callback(reply.close)
        reply.close = stack.pop_all().close
        return reply


def whole(mimetype: str, body: bytes, status: int = 200, *, is_clean: bool = False) -> Reply:
    """An answer that is made already."""
    return Reply(status, mimetype, len(body), BytesIO(body).read, is_clean=is_clean)


def made(result: Made, status: int = 200) -> Reply:
    """What was rewritten."""
    return whole(result.mimetype, result.body, status, is_clean=result.is_clean)


def large(document: Document, source: DocumentSource, status: int = 200, *, apart: bool) -> Reply:
    """A large document, of which a part is in memory at a time. LargeDocumentError."""
    found = open_rewritten(document, source, apart=apart)
    filled = found.filled
    return Reply(status, filled.mimetype, filled.size, filled.read, close=found.file.close, is_clean=filled.is_clean)


def _page(status: int, body: bytes) -> Reply:
    reply = whole(HTML, body, status)
    reply.headers["cache-control"] = "no-store"
    return reply


def _nothing(_size: int) -> bytes:
    return b""


def _recorded(
    folder: Path, asked: RecordedRequest, index: RecordingIndex, found: Recorded, stack: ExitStack, *, apart: bool
) -> Reply:
    if found.response.status == 206:
        return _piece(folder, asked, index.pieces(found), stack)
    headers, body = stack.enter_context(opened(folder, found.head))
    media = media_type_of(folder, index, found, headers)
    if found.body is None:
        return Reply(found.response.status, str(media), 0, _nothing)
    if found.body != found.head:
        _, body = stack.enter_context(opened(folder, found.body))
    if asked.is_raw:
        return _as_it_came(asked, found, _PARTS.sub("application/octet-stream", str(media)), body)
    kind = _kind_of(media.essence, asked)
    if kind is None:
        return _as_it_came(asked, found, _sent_type(folder, index, found, media), body)
    inherited = inherited_charset(folder, index, found) if kind is DocumentKind.CSS and not media.charset else ""
    # A document that its scripts show under another address is relative to that.
    is_scripted = isinstance(asked.place, ScriptPlace) and kind is not DocumentKind.CSS
    url = asked.url if is_scripted else found.response.url
    nonce = found.response.sha256 if kind is not DocumentKind.CSS else ""  # no page can hold the digest of itself
    document = Document(kind, str(media), str(folder), url, asked.place, asked.scripts, inherited, nonce)
    if is_large(kind, found.size):
        source = DocumentSource(found.response.sha256, found.size, found.body)
        reply = large(document, source, found.response.status, apart=apart)
    else:
        reply = made(document.make(body.read(found.size)), found.response.status)
    reply.page_policy = policy_of_page(headers.get("content-security-policy", ""), nonce) if nonce else ""
    return reply


def _kind_of(essence: str, asked: RecordedRequest) -> DocumentKind | None:
    """How an answer of a type is rewritten; None where it comes as it came."""
    if essence in DOCUMENTS:
        return DocumentKind.SCRIPTED if isinstance(asked.place, ScriptPlace) else DocumentKind.HTML
    if essence == CSS:
        return DocumentKind.CSS
    return DocumentKind.XML if is_xml_type(essence) else None


def _sent_type(folder: Path, index: RecordingIndex, found: Recorded, media: MediaType) -> str:
    """The type of what is not changed: a script is read as its document was, which is in UTF-8 now."""
    if is_javascript_type(media.essence) and not media.charset:
        media = MediaType(media.essence, inherited_charset(folder, index, found))
    return _PARTS.sub("application/octet-stream", _SAVED.sub("text/plain", str(media)))


def _as_it_came(asked: RecordedRequest, found: Recorded, mimetype: str, body: RecordBlock) -> Reply:
    more = {"accept-ranges": "bytes"}
    try:
        part = parse_range(asked.range, found.size) if asked.range else None
    except ValueError:
        return Reply(416, mimetype, 0, _nothing, {"content-range": f"bytes */{found.size}"})
    if part is None:
        return Reply(found.response.status, mimetype, found.size, body.read, more)
    start, end = part
    body.skip(start)
    more["content-range"] = f"bytes {start}-{end - 1}/{found.size}"
    return Reply(206, mimetype, end - start, body.read, more)


def _piece(folder: Path, asked: RecordedRequest, pieces: list[Recorded], stack: ExitStack) -> Reply:
    """Of what was itself got in pieces (RFC 9110, 14.4): the one that has the first byte that is asked for."""
    for piece in pieces:
        headers, body = stack.enter_context(opened(folder, piece.body or piece.head))
        span = _span(headers)
        if span is None:
            continue
        first, total = span
        start, end = _wanted(asked.range, total)
        if first <= start < first + piece.size:
            body.skip(start - first)
            end = min(end, first + piece.size)
            more = {"accept-ranges": "bytes", "content-range": f"bytes {start}-{end - 1}/{total}"}
            mimetype = str(parse_content_type(headers.get("content-type", "")))
            return Reply(206 if asked.range else 200, mimetype, end - start, body.read, more)
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
