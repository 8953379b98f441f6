"""Owns reading HTML: the places where a reader could go from a page, and bookmarks as browsers and services have them.

Bookmarks are the Netscape Bookmark File, and Pocket's HTML.
"""

import html
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import DEEPEST, TO_READ, Link, LinkFileError, folder_tags, joined, resolve, words
from archivebox.lib.links.text import decoded, lines, whole_text

_LINKS = "a[href], area[href], frame[src], iframe[src], link[rel~=next i][href], link[rel~=prev i][href]"
"""Places to go to and frames, which are pages too; what a page is made of (pictures, styles) is no link."""


def read_html(file: BinaryIO, base: str = "") -> Iterator[Link]:
    """The http and https links in document order, with their words.

    Relative ones are resolved as a browser does (URL Standard): against ``<base href>``, itself against ``base``, the
    page's own address. Without that they have no address and are passed over. LinkFileError: no memory for its tree.
    """
    try:
        tree = LexborHTMLParser(whole_text(file))
    except SelectolaxError as error:  # 50 KB can become a tree of 2 GB
        raise LinkFileError(
            "has elements that are nested too deeply or closed incorrectly, so that its tree needs too much memory"
        ) from error
    base = _base_of(tree, base)
    for node in tree.css(_LINKS):
        attributes = node.attributes
        url = resolve(attributes.get("href") or attributes.get("src") or "", base)
        if url:
            yield Link(0, url, _words(node))


def _words(node: LexborNode) -> str:
    return " ".join(node.text().split()) or (node.attributes.get("title") or "").strip()


def _base_of(tree: LexborHTMLParser, address: str) -> str:
    """The first base with an address counts (HTML 4.2.3)."""
    node = tree.css_first("base[href]")
    declared = (node.attributes.get("href") or "") if node is not None else ""
    return resolve(declared, address) or address


_PART = re.compile(r"<(?:(a)\s([^<>]*)>(.*?)(?:</a>|$)|(h3)\b([^<>]*)>(.*?)(?:</h3>|$)|(/?dl)\b[^<>]*>)", re.IGNORECASE)
"""A bookmark, the name of a folder, or where a folder begins or ends."""
_ATTRIBUTE = re.compile(r"([a-z_-]+)\s*=\s*\"([^\"]*)\"", re.IGNORECASE)
_ROOT = re.compile(r"(PERSONAL_TOOLBAR|UNFILED_BOOKMARKS)_FOLDER", re.IGNORECASE)
"""A folder that the browser has of itself, whatever it is called there."""
_MARKUP = re.compile(r"<[^>]*>")


def read_bookmarks(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """One ``<A HREF ADD_DATE TAGS>`` a line; the folders around it (``<H3>`` before a ``<DL>``) are tags, too."""
    name, folders, inner = "", list[str](), tuple[str, ...]()
    with decoded(file) as text:
        for number, line in lines(text):
            for link, attributes, inside, folder, kind, title, level in _PART.findall(line):
                if link:
                    yield _bookmark(number, attributes, inside, inner)
                elif folder:
                    name = "" if _ROOT.search(kind) else _plain(title)
                else:
                    folders[-1:] = [] if level[0] == "/" else [*folders[-1:], name]
                    name, inner = "", folder_tags(folders[-DEEPEST:])


def _bookmark(number: int, attributes: str, inside: str, folders: tuple[str, ...]) -> Link:
    said = {name.lower(): html.unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}
    date = iso(said.get("add_date") or said.get("time_added", ""))
    return Link(number, said.get("href", ""), _plain(inside), _tags(said, folders), date=date)


def _tags(said: Mapping[str, str], folders: tuple[str, ...]) -> tuple[str, ...]:
    own = words(said.get("tags", ""))
    to_read = (TO_READ,) if said.get("toread") == "1" else ()
    return joined(own, to_read, folders) if to_read or folders else own


def _plain(inside: str) -> str:
    return html.unescape(_MARKUP.sub("", inside) if "<" in inside else inside).strip()
