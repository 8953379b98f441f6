"""Owns reading JSON: one object a line, a document with a list of them, or a JSON Feed."""

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import BinaryIO

from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON
from archivebox.lib.links.dates import iso
from archivebox.lib.links.exports import entries_of
from archivebox.lib.links.link import Link, LinkFileError
from archivebox.lib.links.tags import TO_READ, joined, tags_of
from archivebox.lib.links.text import decoded, lines, whole_text

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
"""What the record of a new Snapshot might say of it, and options of a command do."""


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
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
    if record.get("type") == "Snapshot" and not record.get("id"):
        for name in filter(record.get, NOT_OF_A_LINK):
            return Link(number, url, problem=f"{name} of a new Snapshot is not taken: give an option of the command")
    title = " ".join(_first(record, TITLE_KEYS).split())
    return Link(number, url, title, _tags(record), "", _date(record), _first(record, TEXT_KEYS))


def _first(record: Mapping[str, JSON], keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := record.get(key), str) and value), "")


def _date(record: Mapping[str, JSON]) -> str:
    """A record of ours was made when it was archived: what it says of the time before is one field alone."""
    keys = (OWN_DATE_KEY,) if OWN_DATE_KEY in record else DATE_KEYS
    return next((date for key in keys if (date := iso(str(record.get(key) or "")))), "")


def _tags(record: Mapping[str, JSON]) -> tuple[str, ...]:
    """Pinboard, and Delicious before it, have spaces between tags, and none in them."""
    value = record.get("tags") or record.get("tags_str") or record.get("labels")
    if "extended" in record and isinstance(value, str):
        value = list(value.split())
    tags = tags_of(value) if value else ()
    return joined(tags, (TO_READ,)) if record.get("toread") == "yes" else tags
