"""Owns reading tables: comma, semicolon or tab between the columns, with or without their names."""

import csv
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import Link, LinkFileError, words
from archivebox.lib.links.records import DATE_KEYS, TITLE_KEYS, URL_KEYS
from archivebox.lib.links.text import decoded, urls_in

LONGEST_CELL = 1_000_000
"""Characters of one cell: exports have whole articles in theirs."""
_HEAD = 65_536
"""Characters by which the signs of a table are told."""
_NAMES = {
    "url": (*URL_KEYS, "address", "page", "website"),
    "title": (*TITLE_KEYS, "name"),
    "tags": ("tags", "labels", "folder"),
    "date": DATE_KEYS,
}
_NOTHING = dict.fromkeys(_NAMES, -1)


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """A row with a URL is a link; which column holds it is told by its name, else by what is in it."""
    csv.field_size_limit(LONGEST_CELL)
    with decoded(file) as text:
        head = text.read(_HEAD)
        text.seek(0)
        rows = csv.reader(text, _dialect(head))
        columns: dict[str, int] | None = None
        try:
            for row in rows:
                named = _columns(row) if columns is None else None
                columns = columns or named or _NOTHING
                if named is None and any(row):
                    yield _link(rows.line_num, row, columns)
        except csv.Error as error:
            raise LinkFileError(f"is no table at line {rows.line_num} ({error})") from None


def _dialect(head: str) -> type[csv.Dialect]:
    try:
        return csv.Sniffer().sniff(head[: head.rfind("\n") + 1] or head, ",;\t|")
    except csv.Error:
        return csv.excel


def _columns(row: Sequence[str]) -> dict[str, int] | None:
    """Which column is what, where this row is of names; None where it holds a URL itself."""
    if any(True for cell in row for _ in urls_in(cell)):
        return None
    names = [cell.strip().lower() for cell in row]
    return {what: next((names.index(name) for name in known if name in names), -1) for what, known in _NAMES.items()}


def _link(line: int, row: Sequence[str], columns: dict[str, int]) -> Link:
    def cell(what: str) -> str:
        place = columns[what]
        return row[place].strip() if 0 <= place < len(row) else ""

    url = cell("url") or next((url for one in row for url in urls_in(one)), "")
    if not url:
        return Link(line, "", problem="no cell of it is a URL")
    return Link(line, url, " ".join(cell("title").split()), words(cell("tags")), date=iso(cell("date")))
