"""Owns reading tables: comma, semicolon or tab between the columns, with or without their names."""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from archivebox.lib.links.dates import iso
from archivebox.lib.links.json_lists import DATE_KEYS, TITLE_KEYS, URL_KEYS
from archivebox.lib.links.link import Link, LinkFileError, folder_tags, joined, tags_in
from archivebox.lib.links.text import decoded, urls_in

LONGEST_CELL = 1_000_000
"""Characters of one cell: exports have whole articles in theirs."""
_HEAD = 65_536
"""Characters by which the signs of a table are told."""
_SIGNS = ",;\t|"
_NAMES = {
    "url": (*URL_KEYS, "address", "page", "website"),
    "title": TITLE_KEYS,
    "tags": ("tags", "labels", "document tags"),
    "folder": ("folder", "collection"),
    "date": (*DATE_KEYS, "saved date", "creation date", "date added", "last interaction date"),
}
"""What columns are called, in small letters: Readwise Reader, Wallabag and Matter have names of two words."""
_DAY_FIRST = re.compile(r"^(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d)$")
_NOTHING = dict.fromkeys(_NAMES, -1)


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """A row with a URL is a link; which column holds it is told by its name, else by what is in it."""
    csv.field_size_limit(LONGEST_CELL)
    with decoded(file) as text:
        head = text.read(_HEAD)
        text.seek(0)
        dialect, sign = _dialect(head)
        rows = csv.reader(text, dialect, delimiter=sign)
        columns: dict[str, int] | None = None
        try:
            for row in rows:
                named = _columns(row) if columns is None else None
                columns = columns or named or _NOTHING
                if named is None and any(row):
                    yield _link(rows.line_num, row, columns)
        except csv.Error as error:
            raise LinkFileError(f"is not a table at line {rows.line_num} ({error})") from None


def _dialect(head: str) -> tuple[type[csv.Dialect], str]:
    """How cells are quoted and what is between them: by the names of columns, else by what it looks like."""
    first = head.partition("\n")[0]
    for sign in _SIGNS:
        names = next(csv.reader([first], delimiter=sign), []) if sign in first else []
        if any(name.strip().lower() in _NAMES["url"] for name in names):
            return csv.excel, sign
    try:
        dialect = csv.Sniffer().sniff(head[: head.rfind("\n") + 1] or head, _SIGNS)
    except csv.Error:
        return csv.excel, ","
    return dialect, dialect.delimiter


def _columns(row: Sequence[str]) -> dict[str, int] | None:
    """Which column is what, where this row is of names; None where it holds a URL itself."""
    if any(True for cell in row for _ in urls_in(cell)):
        return None
    names = [cell.strip().lower() for cell in row]
    return {what: next((names.index(name) for name in map(str.lower, known) if name in names), -1)
            for what, known in _NAMES.items()}  # fmt: skip


def _link(line: int, row: Sequence[str], columns: dict[str, int]) -> Link:
    def cell(what: str) -> str:
        place = columns[what]
        return row[place].strip() if 0 <= place < len(row) else ""

    url = cell("url") or next((url for one in row for url in urls_in(one)), "")
    if not url:
        return Link(line, "", problem="no cell of it is a URL")
    tags, folder = tags_in(cell("tags")), cell("folder")
    if folder:
        tags = joined(tags, folder_tags(folder.split(" / ")))
    return Link(line, url, " ".join(cell("title").split()), tags, date=_date(cell("date")))


def _date(text: str) -> str:
    """Wallabag writes the day first, and hours to twelve without their half of the day, as if all were before noon."""
    return iso(_DAY_FIRST.sub(r"\3-\2-\1 \4", text) if "/" in text else text)
