"""Owns `archivebox machine`."""

from collections.abc import Iterator
from typing import Any

from archivebox.cli.columns import MACHINE
from archivebox.cli.listing import show_model
from archivebox.cli.output import Column, Record
from archivebox.cli.records import record_of
from archivebox.cli.session import Session
from archivebox.machine.models import Machine

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("host", "hostname"),
    Column("system", "os_platform"),
    Column("cores", "cpu_count", right=True),
    Column("memory", lambda record: f"{int(str(record['memory_bytes'])) / 1e9:.1f} GB", right=True),
    Column("seen", "seen_at"),
)


def list_(session: Session, **given: Any) -> int:
    here = Machine.current().pk

    def records(page: list[Machine]) -> Iterator[Record]:
        return (record_of(row, is_current=row.pk == here) for row in page)

    return show_model(session.out, COLUMNS, Machine.objects.all(), MACHINE, given, records=records, sort="-seen_at")
