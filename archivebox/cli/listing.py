"""Rows as records, and how lists of them are shown: in which order, as a table, JSON lines, CSV or HTML."""

import html
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Generic, NamedTuple, Self
from urllib.parse import urlsplit
from uuid import UUID

from django.db import models
from django.db.models import F, QuerySet
from django.db.models.expressions import OrderBy

from archivebox.base_models.rows import Row
from archivebox.cli.conditions import Model, condition_of
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import SNAPSHOT, RowField
from archivebox.cli.output import Column, Output, Record, counted
from archivebox.cli.session import Session
from archivebox.core.models import Snapshot
from archivebox.core.progress.page_states import states_and_counts
from archivebox.core.snapshot import SnapshotQuerySet
from archivebox.hooks import resolve_settings
from archivebox.lib.batches import batches
from archivebox.lib.csv_lines import csv_line
from archivebox.lib.suggestions import did_you_mean

TIMED = 7
"""Version of keys that say when their row was made; that of a machine may be made of its name (MACHINE_ID)."""
PAGE = 500
"""Rows of one query of a long list."""


def record_of(row: Row, **more: object) -> dict[str, object]:
    """A row's columns by name, after its ``type``; ``more`` comes last."""
    record: dict[str, object] = {"type": type(row).__name__}
    for column in row._meta.concrete_fields:
        value = getattr(row, column.attname)
        secret = column.attname == "config" and value
        record[column.attname] = resolve_settings([]).redacted(value) if secret else value
    record["created_at"] = row.created_at if row.pk.version == TIMED else None
    return record | more


def pages(
    rows: "models.QuerySet[Model, Any]", limit: int | None = None, order: Sequence[OrderBy] = ()
) -> Iterator[list[Model]]:
    """All of ``rows``, the newest first or in an order, by pages: no list is too long, no transaction stays open."""
    if order:
        yield from _pages_in_order(rows, limit, order)
        return
    rows = rows.order_by("-id")
    last = None
    while limit is None or limit > 0:
        page = list((rows if last is None else rows.filter(id__lt=last))[: PAGE if limit is None else min(PAGE, limit)])
        if not page:
            return
        yield page
        last = page[-1].pk
        if limit is not None:
            limit -= len(page)


def _pages_in_order(
    rows: "models.QuerySet[Model, Any]", limit: int | None, order: Sequence[OrderBy]
) -> Iterator[list[Model]]:
    """Which they are is decided at once; what was deleted since is left out."""
    keys = list(rows.order_by(*order).values_list("pk", flat=True)[:limit])
    for part in batches(keys, PAGE):
        found = {row.pk: row for row in rows.order_by().filter(pk__in=part)}
        yield [found[key] for key in part if key in found]


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


ON_A_TERMINAL = 50

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("added", "created_at"),
    Column("status", "status"),
    Column("ok", lambda record: _count(record, "succeeded"), right=True),
    Column("failed", lambda record: _count(record, "failed"), right=True),
    Column("title", "title"),
    Column("url", "url", wraps=True),
)
SORTED_AS = {"created_at": "id", "added": "id", "timestamp": "bookmarked_at", "updated": "sealed_at"}
"""What is sorted by another column, or had another name in ArchiveBox 0.7."""
OF_PAGES = {"newest": "-created_at", "oldest": "created_at", "host": "domain", "worst": "quality"}
"""What `archivebox search` calls its orders."""


class ListOptions(NamedTuple):
    """How a list was asked for."""

    limit: int | None = None
    sort: str | None = None
    csv: str | None = None
    html: bool = False
    with_headers: bool = False

    @classmethod
    def pop_from(cls, given: dict[str, Any]) -> Self:
        """Remove the options of the list from those of a command, and return them."""
        return cls(**{name: given.pop(name) for name in cls._fields if name in given})

    def bound(self, out: Output) -> int | None:
        """At most so many rows; None: all. A terminal gets a page of them, whatever else all."""
        return self.limit or (ON_A_TERMINAL if out.is_for_people and not self.is_file else None)

    @property
    def is_file(self) -> bool:
        """Whether it is neither a table nor JSON lines."""
        return self.csv is not None or self.html

    def order(self, fields: Iterable[RowField]) -> tuple[OrderBy, ...]:
        """The order that was asked for, to the last row; BadInputError where there is no such field."""
        if self.sort is None:
            return ()
        name = self.sort.removeprefix("-")
        known = {*(field.name for field in fields if field.is_column), *SORTED_AS}
        if name not in known:
            hint = did_you_mean(name, known, f"There are {', '.join(sorted(known))}.")
            raise BadInputError(f"This list has no order by {name!r}. {hint}")
        falls = self.sort.startswith("-")
        return tuple(
            OrderBy(F(column), descending=falls, nulls_last=True) for column in (SORTED_AS.get(name, name), "id")
        )

    def check(self) -> None:
        """BadInputError where two formats were asked for, or the headers of none."""
        if self.html and self.csv is not None:
            raise BadInputError("--csv and --html exclude each other: choose one.")
        if self.with_headers and not self.is_file:
            raise BadInputError("--with-headers goes with --csv or --html; JSON lines have the names in each line.")


def show_rows(
    out: Output,
    shown: Sequence[Column],
    records: Iterable[Record],
    wanted: ListOptions,
    *,
    empty: str = "",
) -> int:
    """Print records as they come, in the format that was asked for. Returns how many a table or JSON lines had."""
    wanted.check()
    if wanted.csv is not None:
        write_csv(out, wanted.csv, records, with_headers=wanted.with_headers)
        return 0
    if wanted.html:
        write_html(out, records, with_headers=wanted.with_headers)
        return 0
    return out.table(shown, records, empty=empty)


def confirm(
    session: Session, count: int, noun: str, verb: str, show: Callable[[], object], *, yes: bool, dry_run: bool
) -> bool:
    """Whether to go on: ``yes``, or somebody at a terminal said so, having been shown which they are."""
    if yes and not dry_run:
        return True
    show()
    if not dry_run and session.out.ask(f"{counted(count, noun)} will be {verb}. Continue?"):
        return True
    hint = "" if dry_run else " --yes does it."
    session.out.say(f"Nothing was done: {counted(count, noun)} would be {verb}.{hint}")
    return False


@dataclass(frozen=True, slots=True)
class RowTable(Generic[Model]):
    """How commands filter and show the rows of a model."""

    noun: str
    fields: Sequence[RowField]
    columns: Sequence[Column]
    records: Callable[[list[Model]], Iterable[Record]]
    """Those of one page of rows."""
    empty: str
    sort: str | None = None
    line: Callable[[Record], str] = str
    """The sentence about a changed row, for people."""


def list_rows(out: Output, table: RowTable[Model], rows: "QuerySet[Model]", given: Mapping[str, Any]) -> int:
    """Print the rows that match the filters ``given``. Returns 0, the exit status."""
    wanted = ListOptions(given["limit"], given["sort"] or table.sort, given["csv"], with_headers=given["with_headers"])
    chosen = rows.filter(condition_of(rows.model, table.fields, given["where"]))
    found = pages(chosen, wanted.bound(out), wanted.order(table.fields))
    show_rows(out, table.columns, (one for page in found for one in table.records(page)), wanted, empty=table.empty)
    return 0


def print_changed(out: Output, table: RowTable[Model], rows: list[Model]) -> None:
    """The record of each, for the next command in a pipe."""
    for record in table.records(rows):
        out.event(record, table.line(record))


def delete_rows(
    session: Session,
    table: RowTable[Model],
    found: list[Model],
    verb: str,
    act: Callable[[], tuple[Record, str]],
    *,
    yes: bool,
    dry_run: bool,
) -> int:
    """Ask, unless ``yes``, then call ``act``, which deletes them and returns a record and a sentence about that."""
    if not found:
        session.out.say(f"No {table.noun} was chosen. Nothing was done.")
        return 0

    def show_found() -> None:
        session.out.table(table.columns, table.records(found))

    if confirm(session, len(found), table.noun, verb, show_found, yes=yes, dry_run=dry_run):
        counts, sentence = act()
        session.out.event({"type": "Removal", **counts}, sentence)
    return 0


def show(out: Output, rows: SnapshotQuerySet, wanted: ListOptions = ListOptions()) -> None:  # noqa: B008 - immutable
    """Snapshots, the newest first unless another order was asked for."""
    order = wanted._replace(sort=OF_PAGES.get(wanted.sort or "", wanted.sort)).order(SNAPSHOT)
    bound = wanted.bound(out)
    shown = show_rows(out, COLUMNS, snapshot_records(rows, bound, order), wanted, empty="No snapshot matches.")
    if out.is_for_people and wanted.limit is None and shown == ON_A_TERMINAL:
        out.say(f"The {'first' if order else 'newest'} {shown}; --limit shows more.")


def snapshot_records(
    rows: SnapshotQuerySet, limit: int | None, order: Sequence[OrderBy] = ()
) -> Iterator[dict[str, object]]:
    """Each Snapshot with its tags, its state and how many of its results are in which status."""
    for page in pages(rows.prefetch_related("tags"), limit, order):
        came_to = came_to_of(page)
        for snapshot in page:
            tags = [tag.name for tag in snapshot.tags.all()]
            yield record_of(snapshot, tags=tags, **came_to[snapshot.pk])


def came_to_of(page: list[Snapshot]) -> dict[UUID, dict[str, object]]:
    """Snapshot key → its state, and status → how many of its results; one query for all."""
    return {key: {"state": state.value, "results": counts} for key, (state, counts) in states_and_counts(page).items()}


def _count(record: Any, status: str) -> object:
    return record["results"].get(status, "")
