"""Owns `archivebox binary list`."""

from collections.abc import Iterable, Iterator
from typing import Any

from archivebox.cli.fields import BINARY
from archivebox.cli.listing import show_model
from archivebox.cli.output import Column, Record
from archivebox.cli.records import record_of
from archivebox.cli.session import Session
from archivebox.contract import reasons
from archivebox.machine.models import Binary

COLUMNS = (
    Column("program", "name"),
    Column("status", "status"),
    Column("version", "version"),
    Column("from", "binprovider"),
    Column("where", "abspath", wraps=True),
    Column("to do", lambda record: record["message"] or record["action"], wraps=True),
)


def list_(session: Session, **given: Any) -> int:
    empty = "No programs have been checked yet. Run `archivebox install`."
    rows = Binary.objects.here()
    return show_model(session.out, COLUMNS, rows, BINARY, given, records=records_of, sort="name", empty=empty)


def records_of(rows: Iterable[Binary]) -> Iterator[Record]:
    return (record_of(row, action=reasons.action(row.reason) if row.reason else "") for row in rows)
