"""Owns what a list of links says of one of them: its address, title, tags and date."""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import ada_url

from archivebox.lib.jsonl import JSON

LARGEST_DOCUMENT = 64_000_000
"""Bytes of a file that can only be read as a whole (HTML, XML, a JSON document)."""


class LinkFileError(ValueError):
    """A file that cannot be read as what it should be; the message goes on from the file's name: "holds no text"."""


@dataclass(frozen=True, slots=True)
class Link:
    """One entry. ``problem`` says why there is no URL in it; ``line`` is 0 where no line is known.

    ``date``: when it was kept, published or last changed, ISO 8601 in UTC; ``text``: what is said of it, as HTML.
    """

    line: int
    url: str
    title: str = ""
    tags: tuple[str, ...] = ()
    problem: str = ""
    date: str = ""
    text: str = ""


def words(text: str) -> tuple[str, ...]:
    """``one, two three`` → the names between the commas."""
    return tuple(name for part in text.split(",") if (name := " ".join(part.split())))


_WEB = re.compile(r"https?:", re.IGNORECASE)


def resolve(link: str, base: str) -> str:
    """``link`` as an absolute http(s) URL, resolved as a browser does (URL Standard); empty when it is none.

    Without a ``base`` an absolute one stays as it is written.
    """
    link = link.strip()
    if not base:
        return link if _WEB.match(link) else ""
    try:
        url = ada_url.URL(link, base)
    except ValueError:
        return ""
    return str(url.href) if _WEB.match(url.protocol) else ""


DEEPEST = 20
"""Folders around a bookmark that count, the innermost ones."""
TO_READ = "toread"
"""What Pinboard and Delicious call a bookmark that is still to be read."""
_OF_PROGRAMS = frozenset(
    {
        "archive", "bookmarks", "bookmarks bar", "bookmarks menu", "bookmarks toolbar", "bookmarksbar", "favorites",
        "favorites bar", "favourites", "favourites bar", "mobile bookmarks", "other bookmarks", "other favorites",
        "starred", "unorganized", "unread", "unsorted", "unsorted bookmarks",
    }
)  # fmt: skip
"""Folders that browsers and services have of themselves, which say nothing of what is in them."""
_LONGEST_PYTHON = 20_000
"""Characters of a list as Python writes it: what is parsed takes a thousand times their memory."""
_NAME_KEYS = ("name", "label", "title", "slug")


def tags_in(text: str) -> tuple[str, ...]:
    """Of one cell: a list as JSON or Python writes it, else names between ``,``, or ``|`` or ``;`` without commas."""
    text = text.strip()
    if "," in text and text[0] != "[":
        return words(text)
    if text[:1] == "[" and text[-1:] == "]":
        return tags_of(_list_in(text))
    for sign in "|;":
        if sign in text and "," not in text:
            return words(text.replace(sign, ","))
    return words(text)


def tags_of(value: JSON) -> tuple[str, ...]:
    """Of one field: names, or objects that have one, or a cell."""
    if isinstance(value, str):
        return tags_in(value)
    items = value if isinstance(value, list) else []
    names = (_name(item) if isinstance(item, dict) else item for item in items)
    return tuple(plain for name in names if isinstance(name, str | int) and (plain := " ".join(str(name).split())))


def folder_tags(names: Iterable[str]) -> tuple[str, ...]:
    """Each folder that a person has named, from the outermost one."""
    plain = (" ".join(name.split()) for name in names)
    return tuple(name for name in plain if name and name.lower() not in _OF_PROGRAMS)


def joined(*tags: tuple[str, ...]) -> tuple[str, ...]:
    """All of them, each once."""
    return tuple(dict.fromkeys(name for some in tags for name in some))


def _name(item: Mapping[str, JSON]) -> JSON:
    return next((name for key in _NAME_KEYS if (name := item.get(key))), None)


def _list_in(text: str) -> JSON:
    """``["a"]`` (Instapaper) or ``['a']`` (Readwise Reader)."""
    try:
        found: JSON = json.loads(text)
    except (ValueError, RecursionError):
        if len(text) > _LONGEST_PYTHON:
            return []
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return []
    return found
