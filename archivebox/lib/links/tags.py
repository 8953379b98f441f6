"""Owns reading the tags that lists give with a link, and which folders of bookmarks count as tags."""

import ast
import json
from collections.abc import Iterable, Mapping

from archivebox.lib.jsonl import JSON
from archivebox.lib.links.link import words

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
