"""Owns where the links are in the JSON documents of browsers and services."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from archivebox.lib.jsonl import JSON
from archivebox.lib.links.tags import DEEPEST, folder_tags, joined, tags_of

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
