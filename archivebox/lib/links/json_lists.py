"""Owns reading JSON: one object a line, a JSON Feed, and the documents and packed backups of browsers and services."""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import BinaryIO

import lz4.block

from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON
from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import (
    DEEPEST,
    LARGEST_DOCUMENT,
    TO_READ,
    Link,
    LinkFileError,
    folder_tags,
    joined,
    tags_of,
)
from archivebox.lib.links.text import decoded, lines, whole, whole_text

URL_KEYS = ("url", "href", "link", "uri")
TITLE_KEYS = ("title", "name", "description")
OWN_DATE_KEY = "bookmarked_at"
DATE_KEYS = (
    OWN_DATE_KEY,
    "date",
    "date_published",
    "added",
    "created",
    "created_at",
    "time_added",
    "timestamp",
    "time",
    "time_usec",
    "savedAt",
    "importDate",
    "createdAt",
)
"""Linkwarden has ``importDate`` where a link was imported with the date of its bookmark."""
TEXT_KEYS = ("content_html", "content_text", "summary")
NOT_OF_A_LINK = ("config", "depth", "notes", "persona", "status", "visibility")
"""Fields in the record of a new Snapshot that are refused: options of a command set them."""


def read_json(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """One object a line; else the whole file as one document: a list of them, or a JSON Feed."""
    with decoded(file) as text:
        numbered = lines(text)
        first = next(((number, line) for number, line in numbered if line.strip()), None)
        if first is None:
            return
        if jsonl.loads(first[1]) is not None or first[1].lstrip()[:1] not in ("[", "{"):
            for number, line in chain([first], numbered):
                if line.strip():
                    yield from _entries(number, jsonl.loads(line))
            return
    file.seek(0)
    yield from _read_document(file)


def _read_document(file: BinaryIO) -> Iterator[Link]:
    try:
        document: JSON = json.loads(whole_text(file), parse_int=jsonl.parse_integer)
    except RecursionError:
        raise LinkFileError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise LinkFileError(
            f"is not JSON at line {error.lineno} ({error.msg}). Give one object a line, such as "
            '{"url": "https://example.com/", "title": "…", "tags": ["…"]}'
        ) from None
    for item in document if isinstance(document, list) else [document]:
        yield from _entries(0, item if isinstance(item, dict) else {"url": item})


def _entries(number: int, record: dict[str, JSON] | None) -> Iterator[Link]:
    """The links of one object: those of a feed (JSON Feed 1.1) or export, else itself."""
    entries = None if record is None or _first(record, URL_KEYS) else entries_of(record)
    if entries is None:
        yield link_of(number, record)
    else:
        yield from (link_of(number, one) for one in entries)


def link_of(number: int, record: Mapping[str, JSON] | None) -> Link:
    """What one object says of a page; None: the line was no object."""
    if record is None:
        return Link(number, "", problem="it is not a JSON object")
    url = _first(record, URL_KEYS)
    if not url:
        return Link(number, "", problem='it names no "url"')
    is_new = record.get("type") == "Snapshot" and not record.get("id")
    if is_new and (name := next(filter(record.get, NOT_OF_A_LINK), "")):
        return Link(number, url, problem=f"{name} of a new Snapshot is not taken: give an option of the command")
    title = " ".join(_first(record, TITLE_KEYS).split())
    return Link(number, url, title, _tags(record), "", _date(record), _first(record, TEXT_KEYS))


def _first(record: Mapping[str, JSON], keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := record.get(key), str) and value), "")


def _date(record: Mapping[str, JSON]) -> str:
    """When the link was saved. Of our own records only one field says that; the others are the time of archiving."""
    keys = (OWN_DATE_KEY,) if OWN_DATE_KEY in record else DATE_KEYS
    return next((date for key in keys if (date := iso(str(record.get(key) or "")))), "")


def _tags(record: Mapping[str, JSON]) -> tuple[str, ...]:
    """Pinboard, and Delicious before it, have spaces between tags, and none in them."""
    value = record.get("tags") or record.get("tags_str") or record.get("labels")
    if "extended" in record and isinstance(value, str):
        value = list(value.split())
    tags = tags_of(value) if value else ()
    return joined(tags, (TO_READ,)) if record.get("toread") == "yes" else tags


Record = Mapping[str, JSON]
LIST_KEYS = ("items", "links", "bookmarks", "Browser History", "history")
"""Lists of links: JSON Feed, an index.json of ArchiveBox, Karakeep, Chrome's history of Takeout, that of Safari."""
_CONTAINER, _TAGS_ROOT = "text/x-moz-place-container", "tagsFolder"


def entries_of(record: Record) -> Iterator[Record] | None:
    """The links in a document, each with the names of its folders among its tags; None: it is none of these."""
    if record.get("type") == _CONTAINER:
        return _of_firefox(record)
    if isinstance(roots := record.get("roots"), dict):
        return _of_chrome(roots)
    if isinstance(collections := record.get("collections"), list):
        return _of_linkwarden(_records(collections))
    items = next((some for key in LIST_KEYS if isinstance(some := record.get(key), list)), None)
    if items is None:
        return None
    lists = record.get("lists")
    return _of_karakeep(_records(items), _records(lists if isinstance(lists, list) else []))


def _records(items: Iterable[JSON]) -> list[Record]:
    return [item for item in items if isinstance(item, dict)]


def _children(node: Record) -> list[Record]:
    children = node.get("children")
    return _records(children) if isinstance(children, list) else []


def _walk(roots: list[Record], is_named: Callable[[Record], bool]) -> Iterator[tuple[Record, tuple[str, ...]]]:
    """Every node in order, with the names of the folders around it."""
    waiting: list[tuple[Record, tuple[str, ...]]] = [(node, ()) for node in reversed(roots)]
    while waiting:
        node, folders = waiting.pop()
        yield node, folders
        name = str(node.get("title") or node.get("name") or "") if is_named(node) else ""
        inner = (*folders, name) if name else folders
        waiting += [(child, inner) for child in reversed(_children(node))]


def _with(tags: tuple[str, ...], **fields: JSON) -> Record:
    return {**fields, "tags": list(tags)}


# --- browsers -------------------------------------------------------------------------------------------------


def _of_firefox(root: Record) -> Iterator[Record]:
    """A backup of bookmarks (BookmarkJSONUtils): its roots have a ``root``; before version 50 tags were folders."""
    tops = [root, *_children(root)]
    tagged: dict[JSON, list[str]] = {}
    for folder in (folder for top in tops if top.get("root") == _TAGS_ROOT for folder in _children(top)):
        for one in _children(folder):
            tagged.setdefault(str(one.get("uri")), []).append(str(folder.get("title") or ""))
    roots = [top for top in _children(root) if top.get("root") != _TAGS_ROOT] if root.get("root") else [root]
    for node, folders in _walk(roots, lambda node: "root" not in node):
        uri = node.get("uri")
        if isinstance(uri, str) and not uri.startswith("place:"):  # searches of the browser's own
            tags = joined(tags_of(node.get("tags")), tuple(tagged.get(uri, ())), folder_tags(folders))
            yield _with(tags, url=uri, title=node.get("title"), date=node.get("dateAdded"))


def _of_chrome(roots: Record) -> Iterator[Record]:
    """``Bookmarks`` of a profile (bookmark_codec.cc), of Edge, Brave, Vivaldi and Opera, too, without its trash."""
    tops: list[Record] = []
    for name, top in roots.items():
        if isinstance(top, dict) and name != "trash":  # Opera has a level more
            inner = [one for key, one in top.items() if isinstance(one, dict) and key != "trash"]
            tops += [top] if "children" in top else [one for one in inner if "children" in one]
    outer = {id(top) for top in tops}
    for node, folders in _walk(tops, lambda node: id(node) not in outer):
        if url := node.get("url"):
            yield _with(folder_tags(folders), url=url, title=node.get("name"), date=node.get("date_added"))


# --- services -------------------------------------------------------------------------------------------------


def _of_linkwarden(collections: list[Record]) -> Iterator[Record]:
    """An export of all data (exportData.ts): collections, in one another by ``parentId``."""
    paths = _Paths(collections)
    for collection in collections:
        links = collection.get("links")
        for link in _records(links if isinstance(links, list) else []):
            yield {**link, "tags": list(joined(tags_of(link.get("tags")), paths.of(collection.get("id"))))}


def _of_karakeep(items: list[Record], lists: list[Record]) -> Iterator[Record]:
    """An export of bookmarks (exporters.ts): the URL is in ``content``; lists that a query fills are no folders."""
    paths = _Paths([one for one in lists if one.get("type") != "smart"])
    for item in items:
        content, inside = item.get("content"), item.get("lists")
        url = content.get("url") if isinstance(content, dict) else None
        folders = [paths.of(one) for one in inside] if lists and isinstance(inside, list) else []
        more: Record = {"url": url} if url else {}
        tags: Record = {"tags": list(joined(tags_of(item.get("tags")), *folders))} if folders else {}
        yield {**item, **more, **tags}


class _Paths:
    """Folders that name the one they are in by its ``id``."""

    def __init__(self, folders: list[Record]) -> None:
        self._folders = {str(one.get("id")): one for one in folders}

    def of(self, key: JSON) -> tuple[str, ...]:
        """The names from the outermost one; more of them than `DEEPEST` are a cycle."""
        names: list[str] = []
        while (folder := self._folders.get(str(key))) is not None and len(names) < DEEPEST:
            names.insert(0, str(folder.get("name") or ""))
            key = folder.get("parentId")
        return folder_tags(dict.fromkeys(names))


MAGIC = b"mozLz40\0"


def read_packed(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """After the mark come the number of bytes (32 bits, little-endian) and a block of LZ4 (lz4.js of Firefox)."""
    content = whole(file)
    packed = content.removeprefix(MAGIC)
    if packed == content:
        raise LinkFileError("is not a packed backup of Firefox's bookmarks")
    if int.from_bytes(packed[:4], "little") > LARGEST_DOCUMENT:
        raise LinkFileError(f"unpacks to more than {LARGEST_DOCUMENT // 1_000_000} MB")
    try:
        plain = lz4.block.decompress(packed)
    except (lz4.block.LZ4BlockError, ValueError) as error:
        raise LinkFileError(f"cannot be unpacked ({error})") from None
    yield from read_json(io.BytesIO(plain))
