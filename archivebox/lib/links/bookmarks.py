"""Owns reading bookmarks as browsers and services export them (Netscape Bookmark File, and Pocket's HTML)."""

import html
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import Link, words
from archivebox.lib.links.tags import DEEPEST, TO_READ, folder_tags, joined
from archivebox.lib.links.text import decoded, lines

_PART = re.compile(r"<(?:(a)\s([^<>]*)>(.*?)(?:</a>|$)|(h3)\b([^<>]*)>(.*?)(?:</h3>|$)|(/?dl)\b[^<>]*>)", re.IGNORECASE)
"""A bookmark, the name of a folder, or where a folder begins or ends."""
_ATTRIBUTE = re.compile(r"([a-z_-]+)\s*=\s*\"([^\"]*)\"", re.IGNORECASE)
_ROOT = re.compile(r"(PERSONAL_TOOLBAR|UNFILED_BOOKMARKS)_FOLDER", re.IGNORECASE)
"""A folder that the browser has of itself, whatever it is called there."""
_MARKUP = re.compile(r"<[^>]*>")


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """One ``<A HREF ADD_DATE TAGS>`` a line; the folders around it (``<H3>`` before a ``<DL>``) are tags, too."""
    name, folders, inner = "", list[str](), tuple[str, ...]()
    with decoded(file) as text:
        for number, line in lines(text):
            for link, attributes, inside, folder, kind, title, level in _PART.findall(line):
                if link:
                    yield _link(number, attributes, inside, inner)
                elif folder:
                    name = "" if _ROOT.search(kind) else _plain(title)
                else:
                    folders[-1:] = [] if level[0] == "/" else [*folders[-1:], name]
                    name, inner = "", folder_tags(folders[-DEEPEST:])


def _link(number: int, attributes: str, inside: str, folders: tuple[str, ...]) -> Link:
    said = {name.lower(): html.unescape(value) for name, value in _ATTRIBUTE.findall(attributes)}
    date = iso(said.get("add_date") or said.get("time_added", ""))
    return Link(number, said.get("href", ""), _plain(inside), _tags(said, folders), date=date)


def _tags(said: Mapping[str, str], folders: tuple[str, ...]) -> tuple[str, ...]:
    own = words(said.get("tags", ""))
    to_read = (TO_READ,) if said.get("toread") == "1" else ()
    return joined(own, to_read, folders) if to_read or folders else own


def _plain(inside: str) -> str:
    return html.unescape(_MARKUP.sub("", inside) if "<" in inside else inside).strip()
