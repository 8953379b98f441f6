"""Owns reading RSS and Atom: a stream of entries from XML that may be hostile."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.parsers import expat

BLOCK = 65_536
LONGEST_TEXT = 4_096
"""Characters kept of one element: a URL has at most 2,000, a title less."""
ITEMS = frozenset({"item", "entry"})


class FeedError(ValueError):
    """A file that is no feed we read; the message goes on from the file's name."""


@dataclass(slots=True)
class FeedEntry:
    """One entry: its page, title and categories."""

    line: int
    url: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()


@dataclass(slots=True)
class _Item:
    """An entry while its elements come in."""

    line: int
    depth: int
    links: list[str] = field(default_factory=list)
    guid: str = ""
    title: str = ""
    tags: list[str] = field(default_factory=list)

    def entry(self) -> FeedEntry:
        return FeedEntry(self.line, next(iter(self.links), self.guid), self.title, tuple(self.tags))


class _Reader:
    """The handlers of one parse. Entities are refused where they are declared, so none can be expanded or fetched."""

    def __init__(self) -> None:
        self.done: list[FeedEntry] = []
        self._path: list[str] = []
        self._item: _Item | None = None
        self._text = ""
        self._permalink = True
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = _refuse_entity
        self.parser.ExternalEntityRefHandler = _refuse_entity

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        self._path.append(name)
        if len(self._path) > 64:
            raise FeedError("is nested deeper than a feed ever is")
        self._text = ""
        if name in ITEMS:
            self._item = _Item(self.parser.CurrentLineNumber, len(self._path))
        elif self._in_item():
            self._take_attributes(name, attributes)

    def _in_item(self) -> bool:
        return self._item is not None and len(self._path) == self._item.depth + 1

    def _take_attributes(self, name: str, attributes: dict[str, str]) -> None:
        item = self._item
        if item is None:
            return
        if name == "link" and attributes.get("href") and attributes.get("rel", "alternate") == "alternate":
            item.links.append(attributes["href"].strip())
        elif name == "category" and attributes.get("term"):
            item.tags.append(attributes["term"].strip())
        elif name == "guid":
            self._permalink = attributes.get("isPermaLink", "true") == "true"

    def _characters(self, text: str) -> None:
        if self._item is not None and len(self._text) < LONGEST_TEXT:
            self._text += text[:LONGEST_TEXT]

    def _end(self, name: str) -> None:
        name = name.rpartition(" ")[2]
        if self._in_item():
            self._take_text(name, " ".join(self._text.split()))
        if self._item is not None and len(self._path) == self._item.depth:
            self.done.append(self._item.entry())
            self._item = None
        self._path.pop()
        self._text = ""

    def _take_text(self, name: str, text: str) -> None:
        item = self._item
        if item is None or not text:
            return
        if name == "link":
            item.links.append(text)
        elif name == "guid" and self._permalink:
            item.guid = text
        elif name == "title" and not item.title:
            item.title = text
        elif name == "category":
            item.tags.append(text)


def _refuse_entity(*_arguments: object) -> int:
    raise FeedError("declares XML entities, which may blow up or read files, and is refused")


def read_feed(file: BinaryIO) -> Iterator[FeedEntry]:
    """The entries of RSS 0.9x, 1.0, 2.0 and Atom (RFC 4287), as they are read; FeedError where it is no XML."""
    reader = _Reader()
    while True:
        block = file.read(BLOCK)
        try:
            reader.parser.Parse(block, not block)
        except expat.ExpatError as error:
            raise FeedError(f"is no XML at line {error.lineno}: {expat.ErrorString(error.code)}") from None
        yield from reader.done
        reader.done.clear()
        if not block:
            return
