"""Owns reading HTML: the places where a reader could go from a page."""

from collections.abc import Iterator
from typing import BinaryIO

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from archivebox.lib.links.address import resolve
from archivebox.lib.links.link import Link, LinkFileError
from archivebox.lib.links.text import whole_text

_LINKS = "a[href], area[href], frame[src], iframe[src], link[rel~=next i][href], link[rel~=prev i][href]"
"""Places to go to and frames, which are pages too; what a page is made of (pictures, styles) is no link."""


def read(file: BinaryIO, base: str = "") -> Iterator[Link]:
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
