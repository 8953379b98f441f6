"""Owns `archivebox machine`."""

from archivebox.cli.output import Column
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


def list_(session: Session) -> int:
    here = Machine.current().pk
    rows = Machine.objects.order_by("-seen_at")
    session.out.table(COLUMNS, (record_of(row, is_current=row.pk == here) for row in rows))
    return 0
