"""Owns `archivebox install`: queueing the programs that plugins need, and waiting for them."""

import shutil
from itertools import chain
from uuid import UUID

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.cli import administrator
from archivebox.cli.binary.body import COLUMNS
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Column
from archivebox.cli.records import record_of
from archivebox.cli.session import Session
from archivebox.contract import reasons
from archivebox.contract.binaries import BinaryRequest, merge
from archivebox.contract.reasons import Reason
from archivebox.hooks import base_layers, plugins, resolve_settings
from archivebox.lib.suggestions import did_you_mean
from archivebox.machine.models import Binary
from archivebox.workers.supervise.watch import Interrupted, OrchestratorFailedError, OrchestratorWatch

NOT_INSTALLED = 1

PLAN = (
    Column("program", "name"),
    Column("providers, in this order", "binproviders"),
    Column("options", "overrides", wraps=True),
    Column("there already", "abspath"),
)


def run(session: Session, *, names: tuple[str, ...], upgrade: bool, dry_run: bool) -> int:
    requests = _chosen(names)
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


def _chosen(names: tuple[str, ...]) -> list[BinaryRequest]:
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
    records = [record_of(row, action=reasons.action(row.reason) if row.reason else "") for row in rows]
    session.out.table(COLUMNS, records)
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
