"""Finds the links of an HTML page: where a reader could go from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ada_url
from selectolax.lexbor import LexborHTMLParser

if TYPE_CHECKING:
    from collections.abc import Iterator

# Places to go to and frames, which are pages too; what a page is made of (pictures, styles) is no link.
_SELECTOR = "a[href], area[href], frame[src], iframe[src], link[rel~=next i][href], link[rel~=prev i][href]"
_SCHEMES = frozenset({"http:", "https:"})


def find_links(html: str, page_url: str) -> Iterator[str]:
    """Absolute http(s) URLs in document order, each once and without its fragment; the page itself is left out.

    Addresses are resolved as a browser does (URL Standard): against `<base href>`, itself against `page_url`.
    """
    tree = LexborHTMLParser(html)
    here = resolve(page_url, page_url)
    base = _base_of(tree, page_url)
    seen = {here}
    for node in tree.css(_SELECTOR):
        attributes = node.attributes
        url = resolve(attributes.get("href") or attributes.get("src") or "", base)
        if url and url not in seen:
            seen.add(url)
            yield url


def resolve(address: str, base: str) -> str:
    """`address` as an absolute http(s) URL without fragment, "" when it is none."""
    try:
        url = ada_url.URL(address, base) if base else ada_url.URL(address)
    except ValueError:
        return ""
    if url.protocol not in _SCHEMES:
        return ""
    url.hash = ""
    return str(url.href)


def _base_of(tree: LexborHTMLParser, page_url: str) -> str:
    """The first base with an address counts (HTML 4.2.3)."""
    node = tree.css_first("base[href]")
    address = (node.attributes.get("href") or "") if node is not None else ""
    return resolve(address, page_url) or page_url
