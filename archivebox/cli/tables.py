"""Owns lists that are printed as CSV or HTML."""

import html
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Output, Record
from archivebox.lib.csv_lines import csv_line
from archivebox.lib.suggestions import did_you_mean


def write_csv(out: Output, fields: str, records: Iterable[Record], *, with_headers: bool) -> None:
    """One line a record (RFC 4180, but for what ends it); BadInputError for a field that records do not have."""
    names = [name.strip() for name in fields.split(",") if name.strip()]
    if not names:
        raise BadInputError("Name the fields that --csv is to print, such as --csv=url,title.")
    if with_headers:
        out.text(csv_line(names, "\n"))
    for record in records:
        _refuse_unknown(names, record)
        out.text(csv_line([_cell(record, name) for name in names], "\n"))


def _refuse_unknown(names: Iterable[str], record: Record) -> None:
    for name in names:
        if name not in record and not (name in FORMER and "url" in record):
            hint = did_you_mean(name, record, f"There are {', '.join(record)}.")
            raise BadInputError(f"Records of type {record['type']} have no field {name!r}. {hint}")


def _cell(record: Record, name: str) -> str:
    value = record[name] if name in record else FORMER[name](record)
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return json.dumps(value, default=str) if isinstance(value, dict | bool) else str(value)


# --- fields of ArchiveBox 0.7 that are made from ours -----------------------------------------------------------


def _dated(record: Record) -> object:
    return record["bookmarked_at"] or record["created_at"]


def _timestamp(record: Record) -> str:
    when = _dated(record)
    return f"{when.timestamp():f}".rstrip("0").rstrip(".") if isinstance(when, datetime) else ""


def _extension(record: Record) -> str:
    return PurePosixPath(urlsplit(str(record["url"])).path).suffix.lstrip(".")


FORMER = {
    "timestamp": _timestamp,
    "added": lambda record: record["created_at"],
    "updated": lambda record: record["sealed_at"],
    "base_url": lambda record: str(record["url"]).partition("://")[2],
    "extension": _extension,
}


# --- HTML ---------------------------------------------------------------------------------------------------------


def write_html(out: Output, records: Iterable[Record], *, with_headers: bool) -> None:
    """A list item for each page; with headers a document around them."""
    for line in _document(records) if with_headers else map(_item, records):
        out.text(f"{line}\n")


def _document(records: Iterable[Record]) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Archived pages</title>\n<ul>'
    yield from map(_item, records)
    yield "</ul>\n</html>"


def _item(record: Record) -> str:
    url, when = html.escape(str(record["url"])), _dated(record)
    moment = when.isoformat() if isinstance(when, datetime) else ""
    title = html.escape(str(record["title"] or record["url"]))
    return f'<li><a href="{url}">{title}</a> <time datetime="{moment}">{moment[:10]}</time></li>'
