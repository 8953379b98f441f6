"""Owns which formats there are for links: how each is told, and who reads it."""

import importlib
import re
import zlib
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import BinaryIO, cast

from archivebox.lib.links.link import Link, LinkFileError
from archivebox.lib.links.text import encoding_of
from archivebox.lib.suggestions import did_you_mean

HEAD = 65_536
"""Bytes that are read to tell what kind of file it is."""

Reader = Callable[[BinaryIO, str], Iterator[Link]]


class ListFormat(StrEnum):
    """How a file is read."""

    AUTO = "auto"
    URL_LIST = "url_list"
    TXT = "txt"
    HTML = "html"
    RSS = "rss"
    NETSCAPE = "netscape"
    JSONL = "jsonl"
    CSV = "csv"
    MD = "md"
    SITEMAP = "sitemap"
    WARC = "warc"
    POSTS = "posts"
    JSONLZ4 = "jsonlz4"
    SQLITE = "sqlite"
    HISTORY = "history"
    """The visited pages of a browser's database, where its bookmarks are read otherwise; all else as AUTO."""


_READERS = {
    ListFormat.URL_LIST: "text:read_list",
    ListFormat.TXT: "text:read_prose",
    ListFormat.HTML: "pages:read_html",
    ListFormat.RSS: "feeds:read",
    ListFormat.NETSCAPE: "pages:read_bookmarks",
    ListFormat.JSONL: "json_lists:read_json",
    ListFormat.CSV: "tables:read",
    ListFormat.MD: "markdown:read",
    ListFormat.SITEMAP: "xml_lists:read_sitemap",
    ListFormat.WARC: "archives:read",
    ListFormat.POSTS: "xml_lists:read_posts",
    ListFormat.JSONLZ4: "json_lists:read_packed",
    ListFormat.SQLITE: "databases:read",
    ListFormat.HISTORY: "databases:read_history",
}
"""Loaded when the format comes: feedparser alone costs 60 ms, and most that is given is a list."""


def read_links(file: BinaryIO, kind: ListFormat = ListFormat.AUTO, base: str = "") -> Iterator[Link]:
    """The entries of a seekable file in order; ``base``: the address of a page, against which its links are resolved.

    LinkFileError for what cannot be read that way.
    """
    kind = resolve(file, kind)
    module, _, name = _READERS[kind].partition(":")
    reader = cast("Reader", getattr(importlib.import_module(f"archivebox.lib.links.{module}"), name))
    return reader(file, base)


def resolve(file: BinaryIO, kind: ListFormat) -> ListFormat:
    """The format of a seekable file, where ``kind`` leaves it open. LinkFileError as :func:`detect`."""
    if kind not in (ListFormat.AUTO, ListFormat.HISTORY):
        return kind
    found = detect(file.read(HEAD))
    file.seek(0)
    return kind if found is ListFormat.SQLITE and kind is ListFormat.HISTORY else found


# --- what earlier versions call it ------------------------------------------------------------------------------

_EARLIER = {
    "generic_html": ListFormat.HTML,
    "generic_json": ListFormat.JSONL,
    "generic_jsonl": ListFormat.JSONL,
    "generic_rss": ListFormat.RSS,
    "generic_txt": ListFormat.TXT,
    "json": ListFormat.JSONL,
    "medium_rss": ListFormat.RSS,
    "netscape_html": ListFormat.NETSCAPE,
    "pinboard_rss": ListFormat.RSS,
    "pocket_html": ListFormat.NETSCAPE,
    "shaarli_rss": ListFormat.RSS,
    "wallabag_atom": ListFormat.RSS,
}
"""The parsers of ArchiveBox 0.4 to 0.8; 0.9 has plugins instead, such as ``parse_rss_urls``."""
_SERVICES = {
    "pocket_api": "Pocket was shut down in 2025. Give the file that it exported",
    "readwise_reader_api": "ArchiveBox reads no API of Readwise Reader. Export a CSV there, and give that file",
}


def reader_named(name: str) -> ListFormat:
    """The format by our own name of it or by that of an earlier version; ValueError says what to give instead."""
    plain = name.strip().lower().replace("-", "_")
    if plain in _SERVICES:
        raise ValueError(f"{_SERVICES[plain]}.")
    plain = plain.removeprefix("parse_").removesuffix("_urls")
    known = _EARLIER | {kind.value: kind for kind in ListFormat} | {"dom_outlinks": ListFormat.HTML}
    if plain not in known:
        raise ValueError(did_you_mean(plain, known, f"Choose one of {', '.join(ListFormat)}."))
    return known[plain]


# --- which kind it is -----------------------------------------------------------------------------------------

_WARC, _PACKED, _ZIPPED = b"WARC/", b"\x1f\x8b", b"PK\x03\x04"
_SQLITE, _MOZLZ4 = b"SQLite format 3\0", b"mozLz40\0"
_FEED = re.compile(r"<(rss|feed|rdf:RDF|opml)[\s>]")
_SITEMAP = re.compile(r"<(urlset|sitemapindex)[\s>]")
_POSTS = re.compile(r"<posts[\s>]")
_POCKET = re.compile(r"<a\s[^<>]*\stime_added=\"", re.IGNORECASE)
_HTML = re.compile(r"<(!doctype html|html|head|body|a\s[^>]*href)", re.IGNORECASE)
_JSON_START = re.compile(r"\s*(\{|\[\s*[\[{\"\]])")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_TABLE_HEAD = re.compile(r'([\w "-]+[,;\t])*"?(url|href|link|uri)"?\s*([,;\t].*)?', re.IGNORECASE)
_NOT_IN_TEXT = bytes(set(range(32)) - set(b"\b\t\n\f\r\x1b"))
_MARKDOWN = re.compile(r"\]\(https?://|^\[[^\]]+\]:\s", re.MULTILINE | re.IGNORECASE)


def detect(head: bytes) -> ListFormat:
    """What kind of file begins with ``head``; LinkFileError if it is no text at all."""
    if head.startswith(_SQLITE):
        return ListFormat.SQLITE
    if head.startswith(_MOZLZ4):
        return ListFormat.JSONLZ4
    if _is_web_archive(head):
        return ListFormat.WARC
    encoding = encoding_of(head)
    if encoding != "utf-16" and _is_binary(head):
        raise LinkFileError("holds no text, but bytes of some other kind. Give a list of URLs, one a line")
    text = head.decode(encoding, "replace").lstrip()
    if text.startswith("<"):
        return _detect_markup(text)
    if _JSON_START.match(text):
        return ListFormat.JSONL
    return _detect_text(text)


def _detect_markup(text: str) -> ListFormat:
    if text[:100].upper().startswith("<!DOCTYPE NETSCAPE"):
        return ListFormat.NETSCAPE
    if _POSTS.search(text[:1_000]):
        return ListFormat.POSTS
    if _FEED.search(text):
        return ListFormat.RSS
    if _SITEMAP.search(text):
        return ListFormat.SITEMAP
    if _POCKET.search(text):
        return ListFormat.NETSCAPE
    return ListFormat.HTML if _HTML.search(text) else ListFormat.TXT


def _detect_text(text: str) -> ListFormat:
    lines = text.splitlines()
    if lines and len(lines) > 1 and re.search(r"[,;\t]", lines[0]) and _TABLE_HEAD.fullmatch(lines[0].strip()):
        return ListFormat.CSV
    if _is_list(lines):
        return ListFormat.URL_LIST
    return ListFormat.MD if _MARKDOWN.search(text) else ListFormat.TXT


def _is_web_archive(head: bytes) -> bool:
    """A WARC, packed or not; or a zip, which is a WACZ or nothing with links in it."""
    if not head.startswith(_PACKED):
        return head.startswith((_WARC, _ZIPPED))
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, len(_WARC)) == _WARC
    except zlib.error:
        return False


def _is_binary(head: bytes) -> bool:
    """A stray NUL is one bad line among good ones; a tenth of what was packed or drawn is control characters."""
    return len(head) - len(head.translate(None, _NOT_IN_TEXT)) > max(3, len(head) // 50)


def _is_list(lines: list[str]) -> bool:
    """Whether most lines could be URLs: wrong ones among them are then reported, not passed over as prose."""
    content = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    alone = [line for line in content if not re.search(r"\s", line) and (_SCHEME.match(line) or "://" not in line)]
    return 2 * len(alone) >= len(content)
