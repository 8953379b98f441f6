"""Owns `archivebox binary create`, `update` and `delete`."""

from collections.abc import Mapping

from django.db.models import QuerySet

from archivebox.cli.binary.body import records_of
from archivebox.cli.deleting import confirm
from archivebox.cli.fields import BINARY
from archivebox.cli.install import body as install
from archivebox.cli.output import counted
from archivebox.cli.select import NOTHING_ASKED
from archivebox.cli.selection import select_rows
from archivebox.cli.session import Session
from archivebox.cli.stdin import STDIN
from archivebox.machine.models import Binary


def create(session: Session, *, names: tuple[str, ...]) -> int:
    return install.run(session, names=names, upgrade=False, dry_run=False)


def update(session: Session, *, ids: tuple[str, ...], every: bool) -> int:
    names = tuple(_chosen(session, ids, every=every).order_by("name").values_list("name", flat=True))
    return install.run(session, names=names, upgrade=True, dry_run=False) if names else 0


def delete(
    session: Session, *, ids: tuple[str, ...], where: Mapping[str, str], every: bool, yes: bool, dry_run: bool
) -> int:
    """Those that a worker installs at this moment stay."""
    rows = _chosen(session, ids, every=every, where=where).filter(owner__isnull=True)
    count = rows.count()
    if count and confirm(
        session, count, "program", "forgotten", lambda: _show(session, rows), yes=yes, dry_run=dry_run
    ):
        rows.delete()
        session.out.event({"type": "Removal", "binaries": count}, f"{counted(count, 'program')} forgotten.")
    return 0


def _chosen(
    session: Session, ids: tuple[str, ...], *, every: bool, where: Mapping[str, str] = NOTHING_ASKED
) -> "QuerySet[Binary]":
    """By id or name, which one machine has once."""
    here = dict(Binary.objects.here().filter(name__in=ids).values_list("name", "pk"))
    keys = tuple(text if text == STDIN else str(here.get(text, text)) for text in ids)
    rows = select_rows(session.out, Binary, BINARY, every=every, ids=keys, where=where)
    return rows.filter(pk__in=Binary.objects.here().values("pk"))


def _show(session: Session, rows: "QuerySet[Binary]") -> None:
    for record in records_of(rows.order_by("name")):
        session.out.event(record, f"{record['name']} {record['version']}")
