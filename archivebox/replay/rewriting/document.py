"""Owns what is shown of one document or style sheet: it is rewritten, or shown as its source."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from archivebox.lib.html_probe import ParserLimitError
from archivebox.replay.addresses import ReplayContext
from archivebox.replay.answer_type import is_pdf
from archivebox.replay.index import indices
from archivebox.replay.rewriting.css import rewrite_css
from archivebox.replay.rewriting.html import put_first, rewrite_html, rewrite_links_only
from archivebox.replay.rewriting.links import LinkRewriter
from archivebox.replay.rewriting.text import decode, decode_style
from archivebox.replay.rewriting.xml import connects, is_xhtml
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
