"""Owns `archivebox binary`."""

from archivebox.cli.output import Column
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


def list_(session: Session) -> int:
    rows = Binary.objects.here().order_by("name")
    records = (record_of(row, action=reasons.action(row.reason) if row.reason else "") for row in rows)
    session.out.table(COLUMNS, records, empty="No programs have been checked yet. Run `archivebox install`.")
    return 0
