"""Where several machines share one database: what becomes of the work of those that have fallen silent."""

import logging
import os
from datetime import timedelta

from django.db import connection, models
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.base_models.work import LEASE, RENEW_EVERY, Request, lease_clock, work_models
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason
from archivebox.crawls.crawl import CrawlRun
from archivebox.machine.fleet_setting import refresh_public_keys
from archivebox.machine.host import Machine
from archivebox.machine.periodic import periodic_task
from archivebox.machine.plugin_sets import report_plugins
from archivebox.machine.process import Process

log = logging.getLogger(__name__)

SILENT = timedelta(minutes=10)
"""After so long without a sign of life a machine is taken for gone; its workers give one every ten seconds."""
RUN_LOST = 3 * LEASE
"""After so long without one, runs of crawls that nobody holds there are sealed: their leases are long over, and a
machine that comes back has ended what it ran of them."""
SWEEP_EVERY = timedelta(seconds=RENEW_EVERY / 2)
"""How long no other machine looks for what silent ones held."""


def record_heartbeat() -> int:
    """Give a sign of life of this machine, and take back what silent ones held; returns how much came back.

    One machine at a time takes back, and wakes all. Each takes over the public keys of the others, and reports which
    plugins it has.
    """
    Machine.objects.filter(pk=Machine.current().pk).update(
        seen_at=lease_clock(), load=os.getloadavg()[0], removed_at=None
    )
    refresh_public_keys()
    report_plugins()
    with periodic_task("sweep", SWEEP_EVERY) as is_due:
        if not is_due:
            return 0
        count = reclaim_elsewhere() + close_silent_machines() + seal_runs_without_worker()
        if count:
            notify_workers()
    return count


def reclaim_elsewhere() -> int:
    """Leases of workers that do not live here, which were not renewed: nothing else can tell us that they are gone.

    Those of this machine say by their lock files that they are.
    """
    count = 0
    for model in work_models():
        owners = set(model.rows().expired().values_list("owner", flat=True))
        for owner in owners - set(Process.objects.here().filter(pk__in=owners).values_list("pk", flat=True)):
            count += model.rows().expired().reclaim(owner)
    return count


def has_other_machines() -> bool:
    """Whether another machine has given a sign of life of late: it takes over what this one does not renew in time."""
    if connection.vendor != "postgresql":
        return False
    others = Machine.objects.filter(removed_at=None, seen_at__gt=lease_clock() - SILENT)
    return others.exclude(pk=Machine.current().pk).exists()


def close_silent_machines() -> int:
    """What ran on machines that are gone is lost. How many processes.

    One that comes back finds its leases lost, ends what it still runs, and begins anew.
    """
    running = Process.objects.running().filter(machine__in=_silent_for(SILENT))
    if not running.exists():
        return 0
    with write_transaction():
        count: int = running.transition(
            "lose", ended_at=timezone.now(), end_reason=EndReason.LOST, request=Request.NONE
        )
    log.warning("Abandoned %d processes of machines that are silent action=machines_abandoned", count)
    return count


def seal_runs_without_worker() -> int:
    """Runs of crawls that nobody holds, on machines that drain or are silent: no worker there would, and their crawls
    wait for them. How many. A machine that comes back opens a crawl again that has pages for it.
    """
    unheld = CrawlRun.objects.unsealed().filter(owner__isnull=True)
    drained = unheld.filter(machine__drain_by__isnull=False)
    return _seal(unheld.filter(machine__in=_silent_for(RUN_LOST)), Reason.WORKER_LOST) + _seal(drained, None)


def _silent_for(period: timedelta) -> models.QuerySet[Machine]:
    return Machine.objects.filter(seen_at__lt=lease_clock() - period).exclude(pk=Machine.current().pk)


def _seal(runs: models.QuerySet[CrawlRun], reason: Reason | None) -> int:
    if not runs.exists():
        return 0
    columns = {} if reason is None else {"reason": reason}
    with write_transaction():
        unheld = list(runs.select_related("crawl").select_for_update(of=("self",)))
        for run in unheld:
            run.transition("seal", **columns)
    log.info("Sealed %d runs of crawls that nobody holds action=runs_sealed reason=%s", len(unheld), reason or "")
    return len(unheld)
