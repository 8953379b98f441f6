"""Owns reading bookmarks as browsers export them (Netscape Bookmark File)."""

import html
import re
from collections.abc import Iterator
from typing import BinaryIO

from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import Link, words
from archivebox.lib.links.text import decoded, lines

_BOOKMARK = re.compile(r"<a\s([^<>]*)>(.*?)(?:</a>|$)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"([a-z_-]+)\s*=\s*\"([^\"]*)\"", re.IGNORECASE)


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """One ``<A HREF ADD_DATE TAGS>`` a line."""
    with decoded(file) as text:
        for number, line in lines(text):
            for found in _BOOKMARK.finditer(line):
                yield _link(number, found[1], found[2])


def _link(number: int, attributes: str, inside: str) -> Link:
    said = {name.lower(): html.unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}
    title = html.unescape(re.sub(r"<[^>]*>", "", inside)).strip()
    return Link(number, said.get("href", ""), title, words(said.get("tags", "")), date=iso(said.get("add_date", "")))
