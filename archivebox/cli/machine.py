"""Owns `archivebox machine`."""

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from archivebox.cli.conditions import find
from archivebox.cli.config import find_machine
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import MACHINE
from archivebox.cli.listing import RowTable, list_rows, record_of
from archivebox.cli.output import Column
from archivebox.cli.session import Session
from archivebox.core.progress.machine_work import pages_at_work
from archivebox.machine.host import MachineAtWorkError
from archivebox.machine.models import Machine, Process
from archivebox.machine.plugin_sets import plugin_differences

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("host", "hostname"),
    Column("state", "state"),
    Column("pages", "pages", right=True),
    Column("load", "load", right=True),
    Column("system", "os_platform"),
    Column("cores", "cpu_count", right=True),
    Column("memory", lambda record: f"{int(str(record['memory_bytes'])) / 1e9:.1f} GB", right=True),
    Column("version", "version"),
    Column("seen", "seen_at"),
    Column("plugin_difference", "plugins differ", wraps=True),
)
LABELS = {
    "id": "id", "hostname": "host", "state": "state", "plugin_difference": "plugins differ",
    "drain_by": "releases its work at", "seen_at": "last seen",
    "load": "load", "pages": "pages running", "processes": "processes", "version": "ArchiveBox",
    "os_platform": "system", "arch": "architecture", "cpu_count": "cores", "memory_bytes": "memory",
    "urls": "working on",
}  # fmt: skip
SHOWN_URLS = 20
LOOK_EVERY = 1.0
"""Seconds between two looks at a machine that drains."""
GIVE_BACK_TIME = timedelta(minutes=1)
"""How long giving back what still runs may take; what is held then is held by the dead."""


def list_(session: Session, **given: Any) -> int:
    table = RowTable("machine", MACHINE, COLUMNS, _records, empty="", sort="-seen_at")
    return list_rows(session.out, table, Machine.objects.kept(), given)


def show(session: Session, *, id: str, alive: bool) -> int:  # noqa: A002 - the argument's name
    machine = find_machine(id)
    running = Process.objects.running().on(machine).count()
    urls = list(pages_at_work(machine.pk).order_by("pk").values_list("url", flat=True)[:SHOWN_URLS])
    session.out.facts({**_record(machine), "processes": running, "urls": urls}, LABELS, frozenset({"memory_bytes"}))
    return 1 if alive and not machine.was_seen_lately else 0


def drain(session: Session, *, id: str, within: int, wait: bool) -> int:  # noqa: A002
    machine = find_machine(id)
    machine.drain(timedelta(seconds=within))
    what = f"{machine} takes no new work. What still runs in {within} seconds goes back to the queue."
    session.out.event(_record(machine), what)
    if wait:
        _wait_until_drained(machine, timezone.now() + timedelta(seconds=within) + GIVE_BACK_TIME)
    return 0


def _wait_until_drained(machine: Machine, latest: datetime) -> None:
    """Until no page is at work there, or nobody is left who could finish one or give it back."""
    while pages_at_work(machine.pk).exists() and machine.state != "offline" and timezone.now() < latest:
        time.sleep(LOOK_EVERY)
        machine.refresh_from_db(fields=["seen_at"])


def resume(session: Session, *, id: str) -> int:  # noqa: A002
    machine = find_machine(id)
    machine.resume()
    session.out.event(_record(machine), f"{machine} works again.")
    return 0


def remove(session: Session, *, id: str) -> int:  # noqa: A002
    machine = find(Machine, id)
    try:
        machine.remove()
    except MachineAtWorkError as error:
        raise BadInputError(str(error)) from error
    session.out.event(_record(machine), f"{machine} is removed. What it did stays on record.")
    return 0


def _record(machine: Machine) -> dict[str, object]:
    return next(_records([machine]))


def _records(machines: Sequence[Machine]) -> Iterator[dict[str, object]]:
    differences = plugin_differences(machines)
    for machine in machines:
        facts = {"pages": pages_at_work(machine.pk).count(), "plugin_difference": differences.get(machine.pk, "")}
        record = record_of(machine, is_current=machine.is_current, state=machine.state, **facts)
        del record["plugins"]
        yield record
