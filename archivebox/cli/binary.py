"""Carries out `archivebox binary` and `archivebox install`: the programs that plugins need."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.cli import administrator
from archivebox.cli.errors import BadInputError
from archivebox.cli.fields import BINARY
from archivebox.cli.listing import RowTable, delete_rows, list_rows, record_of
from archivebox.cli.output import Column, Record, counted
from archivebox.cli.selection import NOTHING_ASKED, STDIN, select_rows
from archivebox.cli.session import Session
from archivebox.contract import reasons
from archivebox.contract.binaries import BinaryRequest, merge
from archivebox.contract.reasons import Reason
from archivebox.hooks import base_layers, plugins, resolve_settings
from archivebox.lib.suggestions import did_you_mean
from archivebox.machine.models import Binary
from archivebox.workers.supervise.watch import Interrupted, OrchestratorFailedError, OrchestratorWatch

BINARY_COLUMNS = (
    Column("program", "name"),
    Column("status", "status"),
    Column("version", "version"),
    Column("from", "binprovider"),
    Column("where", "abspath", wraps=True),
    Column("to do", lambda record: record["message"] or record["action"], wraps=True),
)


def records_of(rows: Iterable[Binary]) -> Iterator[Record]:
    return (record_of(row, action=reasons.action(row.reason) if row.reason else "") for row in rows)


BINARIES = RowTable(
    "program",
    BINARY,
    BINARY_COLUMNS,
    records_of,
    empty="No programs have been checked yet. Run `archivebox install`.",
    sort="name",
)


def list_(session: Session, **given: Any) -> int:
    return list_rows(session.out, BINARIES, Binary.objects.here(), given)


def create(session: Session, *, names: tuple[str, ...]) -> int:
    return install(session, names=names, upgrade=False, dry_run=False)


def update(session: Session, *, ids: tuple[str, ...], every: bool) -> int:
    names = tuple(_chosen(session, ids, every=every).order_by("name").values_list("name", flat=True))
    return install(session, names=names, upgrade=True, dry_run=False) if names else 0


def delete(
    session: Session, *, ids: tuple[str, ...], where: Mapping[str, str], every: bool, yes: bool, dry_run: bool
) -> int:
    """Those that a worker installs at this moment stay."""
    rows = _chosen(session, ids, every=every, where=where).filter(owner__isnull=True)
    found = list(rows.order_by("name"))

    def act() -> tuple[Record, str]:
        rows.delete()
        return {"binaries": len(found)}, f"{counted(len(found), 'program')} forgotten."

    return delete_rows(session, BINARIES, found, "forgotten", act, yes=yes, dry_run=dry_run)


def _chosen(
    session: Session, ids: tuple[str, ...], *, every: bool, where: Mapping[str, str] = NOTHING_ASKED
) -> "QuerySet[Binary]":
    """By id or name, which one machine has once."""
    here = dict(Binary.objects.here().filter(name__in=ids).values_list("name", "pk"))
    keys = tuple(text if text == STDIN else str(here.get(text, text)) for text in ids)
    rows = select_rows(session.out, Binary, BINARY, every=every, ids=keys, where=where)
    return rows.filter(pk__in=Binary.objects.here().values("pk"))


NOT_INSTALLED = 1

PLAN = (
    Column("program", "name"),
    Column("providers, in this order", "binproviders"),
    Column("options", "overrides", wraps=True),
    Column("there already", "abspath"),
)


def install(session: Session, *, names: tuple[str, ...], upgrade: bool, dry_run: bool) -> int:
    requests = _requests(names)
    if dry_run:
        session.out.table(PLAN, (_plan(request) for request in requests), empty="No plugin needs a program.")
        return 0
    administrator.ask_for(session, requests)
    former = _versions(requests)
    keys = _queue(requests, upgrade=upgrade)
    try:
        with session.out.live() as draw, OrchestratorWatch(session.process, tell=session.out.warn) as watching:
            watching.wait(lambda: not _unsettled(keys), lambda: draw(_lines(keys)))
    except Interrupted as stop:
        session.out.warn("Stopped. What is installed stays; `archivebox install` continues.")
        return 128 + stop.signum
    except OrchestratorFailedError as error:
        session.out.warn(f"{error}. Its log is {session.folder.logs / 'orchestrator.log'}.")
        return NOT_INSTALLED
    status = _report(session, keys)
    if upgrade:
        _tell_changes(session, keys, former)
    return status


def _requests(names: tuple[str, ...]) -> list[BinaryRequest]:
    """The programs named, or all that the plugins which are on need."""
    settings = resolve_settings(base_layers())
    wanted = [plugin for plugin in plugins().values() if names or settings.is_enabled(plugin)]
    merged, _ = merge(chain.from_iterable(plugin.binaries for plugin in wanted))
    for name in names:
        if name not in merged:
            hint = did_you_mean(name, merged, "`archivebox install --dry-run` shows those they need.")
            raise BadInputError(f"No plugin needs a program {name}. {hint}")
    return [merged[name] for name in names or sorted(merged)]


def _plan(request: BinaryRequest) -> dict[str, object]:
    known = Binary.objects.here().filter(name=request.name).first()
    return {
        "type": "Binary",
        "name": request.name,
        "binproviders": list(request.binproviders) or ["any"],
        "overrides": dict(request.overrides),
        "abspath": known.abspath if known and known.is_there else shutil.which(request.name),
    }


def _versions(requests: list[BinaryRequest]) -> dict[str, str]:
    """Name → version of what is there."""
    rows = Binary.objects.here().filter(name__in=[request.name for request in requests])
    return {row.name: row.version for row in rows if row.is_there}


def _queue(requests: list[BinaryRequest], *, upgrade: bool) -> list[UUID]:
    """Those that are not there are looked for again, whatever was found out before; to upgrade, all are asked for."""
    with write_transaction():
        rows = [Binary.want(request) for request in requests]
        for row in rows:
            if row.status in Binary.SETTLED and (upgrade or not row.is_there):
                row.transition("requeue", reason=Reason.UPGRADE if row.is_there else "")
        notify_workers()
    return [row.pk for row in rows]


def _unsettled(keys: list[UUID]) -> bool:
    return Binary.objects.filter(pk__in=keys).exclude(status__in=Binary.SETTLED).exists()


def _lines(keys: list[UUID]) -> list[str]:
    return [f"{row.name}  {row.status}  {row.version}" for row in Binary.objects.filter(pk__in=keys).order_by("name")]


def _report(session: Session, keys: list[UUID]) -> int:
    """What is there now; and for what needs an administrator, the very line to run."""
    rows = list(Binary.objects.filter(pk__in=keys).order_by("name"))
    session.out.table(BINARY_COLUMNS, records_of(rows))
    for row in rows:
        reason, detail = reasons.split(row.reason) if row.reason else (None, "")
        if reason is Reason.NEEDS_ROOT:
            session.out.say(f"{row.name} needs an administrator: `{detail}`, then `archivebox install`.")
    return NOT_INSTALLED if any(row.status == Binary.StatusChoices.FAILED for row in rows) else 0


def _tell_changes(session: Session, keys: list[UUID], former: dict[str, str]) -> None:
    """From which version to which; what is as it was goes without a word, but for the reason where there is one."""
    for row in Binary.objects.filter(pk__in=keys).order_by("name"):
        before = former.get(row.name)
        if before and before != row.version:
            session.out.say(f"{row.name}: {before} → {row.version}")
