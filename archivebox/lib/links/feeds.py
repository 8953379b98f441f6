"""Owns reading feeds: RSS and Atom of every age (feedparser), JSON Feed, and outlines of feeds (OPML 1 and 2)."""

import json
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO

import feedparser
import listparser

from archivebox.lib.links.dates import iso
from archivebox.lib.links.json_lists import read_json
from archivebox.lib.links.link import Link, LinkFileError, joined
from archivebox.lib.links.text import whole
from archivebox.lib.links.xml_lists import refuse_entities

LONGEST_TEXT = 200_000
"""Characters kept of what an entry says."""
HEAD = 65_536
"""Bytes in which a document says what it is."""
_TAGS_ARE_WORDS = re.compile(r"https?://([\w-]+\.)?(pinboard\.in|del\.icio\.us|delicious\.com)/")
"""Services that write all tags of an entry as one, with spaces between them."""
_OUTLINE = re.compile(rb"<opml[\s>]")


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """The entries, those of a broken feed as far as they can be understood; LinkFileError where it is no feed."""
    content = whole(file)
    if _is_json(content):
        file.seek(0)
        yield from read_json(file)
        return
    refuse_entities(content)
    if _OUTLINE.search(content, 0, HEAD):
        yield from _read_outline(content)
        return
    feed = _parsed(content)
    if not feed.version and not feed.entries:
        raise LinkFileError(f"is not a feed{f' ({feed.bozo_exception})' if feed.bozo else ''}")
    are_words = _TAGS_ARE_WORDS.match(str(feed.feed.get("link") or "")) is not None
    yield from (_link(entry, are_words=are_words) for entry in feed.entries)


def title_of(content: bytes) -> str:
    """What the feed is called, of one that `read` has understood; empty where it does not say."""
    if _is_json(content):
        title = json.loads(content).get("title")
    elif _OUTLINE.search(content, 0, HEAD):
        title = _outline_title(content)
    else:
        title = _parsed(content).feed.get("title")
    return " ".join(str(title or "").split())


def _is_json(content: bytes) -> bool:
    return content.lstrip()[:1] == b"{"


@lru_cache(maxsize=1)
def _parsed(content: bytes) -> Any:
    return feedparser.parse(content, sanitize_html=False, resolve_relative_uris=False)


def _link(entry: Any, *, are_words: bool) -> Link:
    url = entry.get("link") or next((one["href"] for one in entry.get("enclosures", []) if one.get("href")), "")
    terms = (str(tag["term"]) for tag in entry.get("tags", []) if tag.get("term"))
    tags = joined(*(tuple(term.split()) if are_words else (term,) for term in terms))
    title = " ".join(str(entry.get("title", "")).split())
    return Link(0, url, title, tags, "" if url else "it names no page", _date(entry), _text(entry))


def _date(entry: Any) -> str:
    """As it is written, to the microsecond; else as feedparser understands it."""
    if date := iso(str(entry.get("published") or entry.get("updated") or "")):
        return date
    moment = entry.get("published_parsed") or entry.get("updated_parsed")
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", moment) if moment else ""


def _text(entry: Any) -> str:
    """The whole where the feed has it, else the summary."""
    contents = [str(one.get("value", "")) for one in entry.get("content", [])]
    return max([*contents, str(entry.get("summary", ""))], key=len)[:LONGEST_TEXT]


def _read_outline(content: bytes) -> Iterator[Link]:
    """The feeds and pages that it names, tagged with the folders they are in; LinkFileError where it is no outline."""
    outline = listparser.parse(content)
    if not outline.version.startswith("opml"):
        raise LinkFileError(f"is not OPML{f' ({outline.bozo_exception})' if outline.bozo else ''}")
    for entry in (*outline.feeds, *outline.lists, *outline.opportunities):
        yield Link(0, entry.url, " ".join(entry.title.split()), tuple(entry.tags))


def _outline_title(content: bytes) -> str:
    """What the outline is called; empty where it does not say."""
    return str(listparser.parse(content).meta.get("title", ""))
