"""Owns what is shown of one document or style sheet: it is rewritten, or shown as its source."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from xml.parsers import expat

import webencodings

from archivebox.lib.charsets import declared_in_css, declared_in_html
from archivebox.lib.html_probe import ParserLimitError
from archivebox.lib.mime_sniffing import parse_content_type
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.answer_type import is_pdf
from archivebox.replay.index import indices
from archivebox.replay.rewriting.css import rewrite_css
from archivebox.replay.rewriting.html import put_first, rewrite_html, rewrite_links_only
from archivebox.replay.rewriting.links import LinkRewriter
from archivebox.replay.scripts.page import rewrite_scripted
from archivebox.replay.scripts.place import ScriptPlace

LARGEST_TEXT = 32 * 1024 * 1024
"""Bytes of a document or style sheet that are rewritten, and shown."""
OPENED = "dom/opened.json"
"""What scripts had opened above the page, as the plugin ``dom`` keeps it."""
_SVG = "image/svg+xml"
_DRAWN = re.compile(rb"<\?xml-stylesheet|http://www\.w3\.org/")
"""What says at the beginning of XML that browsers draw it: by a style sheet, or as SVG."""


class DocumentKind(StrEnum):
    """What is rewritten: a recorded document, without or with its scripts, a style sheet, XML, a document of a plugin;
    or what cannot be.
    """

    HTML = "html"
    SCRIPTED = "scripted"
    CSS = "css"
    XML = "xml"
    COPY = "copy"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Made:
    """What is shown: ``is_clean``: nothing is left in it by which a browser would connect elsewhere."""

    mimetype: str
    body: bytes
    is_clean: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """What its rewriting needs to know. ``folder``: its snapshot's, empty for a copy; ``url``: its own, as well.

    ``mimetype``: with the charset that is known of it; ``inherited``: a style sheet's charset where nothing says it;
    ``nonce``: see :class:`archivebox.replay.rewriting.links.LinkRewriter`.
    """

    kind: DocumentKind
    mimetype: str
    folder: str
    url: str
    place: ReplayContext | ScriptPlace
    scripts: bool
    inherited: str = ""
    nonce: str = ""

    def make(self, data: bytes) -> Made:
        """What is shown of it; its source where it cannot be rewritten."""
        if self.kind is DocumentKind.XML:
            return self._make_xml(data)
        if self.kind is DocumentKind.SOURCE:
            return self._source(data)
        try:
            body = self.rewrite(data)
        except ParserLimitError:
            return self._source(data)
        return Made(f"text/{'css' if self.kind is DocumentKind.CSS else 'html'}; charset=utf-8", body, is_clean=True)

    def rewrite(self, data: bytes) -> bytes:
        """Its bytes in UTF-8, with URLs that lead into the archive. ParserLimitError."""
        place = self.place.seen_from(self.url) if isinstance(self.place, ScriptPlace) else self.place
        text, links = self._text(data), self._links(place)
        if self.kind is DocumentKind.SCRIPTED:
            written = rewrite_scripted(text, links, indices.of(Path(self.folder)).origins)
            return written.encode("utf-8", "replace")
        url, opened = _opened_in(Path(self.folder)) if self.folder else ("", {})
        written = _WAYS[self.kind](text, replace(links, opened=opened))
        if self.kind is DocumentKind.HTML and url == self.url:
            rules = "".join(f"{selector}{{{styles}}}" for selector, styles in opened.items())
            written = put_first(written, f'<style nonce="{self.nonce}">{rules}</style>')
        return written.encode("utf-8", "replace")

    def _make_xml(self, data: bytes) -> Made:
        """XML that nobody draws is shown as its source, because the tree that browsers make of it takes their own
        scripts; and what would connect elsewhere. XHTML is a document.
        """
        if is_xhtml(data):
            of_page = DocumentKind.SCRIPTED if isinstance(self.place, ScriptPlace) else DocumentKind.HTML
            return replace(self, kind=of_page if self.folder else DocumentKind.COPY).make(data)
        is_drawn = self.mimetype.startswith(_SVG) or _DRAWN.search(data, 0, 1024)
        return Made(self.mimetype, data) if is_drawn and not connects(data) else self._source(data)

    def _source(self, data: bytes) -> Made:
        """What browsers are not to draw, as it is written."""
        return Made("text/plain; charset=utf-8", self._text(data).encode("utf-8", "replace"))

    def _text(self, data: bytes) -> str:
        style = self.mimetype.startswith("text/css")
        return decode_style(data, self.mimetype, self.inherited) if style else decode(data, self.mimetype)

    def _links(self, place: ReplayContext | ScriptPlace) -> LinkRewriter:
        if not self.folder:
            return LinkRewriter(place, self.url, self.url, lambda _url: False, self.scripts)
        index = indices.of(Path(self.folder))
        return LinkRewriter(
            place,
            self.url,
            self.url,
            is_kept=lambda url: index.find(url) is not None,
            scripts=self.scripts,
            count_frames=index.count_frames,
            is_pdf=lambda url: is_pdf(Path(self.folder), url),
            nonce=self.nonce,
        )

    @classmethod
    def from_json(cls, text: str) -> "Document":
        said = json.loads(text)
        place = ScriptPlace(**said["place"]) if "main" in said["place"] else ReplayContext(**said["place"])
        return cls(**{**said, "kind": DocumentKind(said["kind"]), "place": place})


def _opened_in(folder: Path) -> tuple[str, dict[str, str]]:
    """The page in which scripts had opened something, and selector → styles of that; empty where nothing is known."""
    try:
        said = json.loads((folder / OPENED).read_bytes())
        styles = {str(selector): str(text) for selector, text in said["styles"].items()}
        return str(said["url"]), {name: text for name, text in styles.items() if "<" not in name + text}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return "", {}


_WAYS: dict[DocumentKind, Callable[[str, LinkRewriter], str]] = {
    DocumentKind.HTML: rewrite_html,
    DocumentKind.CSS: rewrite_css,
    DocumentKind.COPY: rewrite_links_only,
}


def decode(data: bytes, content_type: str) -> str:
    """The text of a document: by its byte order mark, else as its type says, else as it says itself, else what it can
    be.
    """
    return _text(data, content_type, declared_in_html(data), "")


def decode_style(data: bytes, content_type: str, inherited: str = "") -> str:
    """The text of a style sheet; ``inherited``: the encoding of the document that uses it."""
    return _text(data, content_type, declared_in_css(data), inherited)


def _name_of(label: str) -> str:
    """The name of the encoding with this label (Encoding 4.2); empty where there is none."""
    encoding = webencodings.lookup(label) if label.isascii() else None
    return str(encoding.name) if encoding else ""


def _text(data: bytes, content_type: str, declared: str, inherited: str) -> str:
    name = _name_of(parse_content_type(content_type).charset)
    if not name and (name := _name_of(declared)).startswith("utf-16"):
        name = "utf-8"  # what was read as ASCII so far is not UTF-16
    text, _ = webencodings.decode(data, name or _name_of(inherited) or _guess_encoding(data))
    return str(text)


def _guess_encoding(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


_HTML = "http://www.w3.org/1999/xhtml"
_CONNECTING = frozenset(f"{_HTML} {name}" for name in ("base", "link", "meta"))
_BEGINNING = 64 * 1024
"""Bytes in which the first element begins."""
_MAY = re.compile(rb"xhtml|&#|<!ENTITY|\0")
"""The namespace of HTML, or how else it could be written."""


class _FoundError(Exception):
    """The element that was looked for, or one that shows that there is none."""


def connects(data: bytes) -> bool:
    """Whether elements of HTML stand in it by which a browser connects (``<link rel=preconnect>``).

    Also of what could hold some and is not XML: browsers pass over mistakes that others do not.
    """
    if not _MAY.search(data):
        return False
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = _begin
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, _FoundError):
        return True
    return False


def _begin(name: str, _attributes: dict[str, str]) -> None:
    if name in _CONNECTING:
        raise _FoundError


def is_xhtml(data: bytes) -> bool:
    """Whether the first element is that of an HTML document."""
    root: list[str] = []

    def begin(name: str, _attributes: dict[str, str]) -> None:
        root.append(name)
        raise _FoundError

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = begin
    with suppress(expat.ExpatError, _FoundError):
        parser.Parse(data[:_BEGINNING])
    return root == [f"{_HTML} html"]
