"""After a crash of all: what an orchestrator finds at its start and leaves at its end.

It ends and puts back; it runs nothing. Sweeping twice changes nothing.
"""

import logging
import os
from uuid import UUID

from archivebox.base_models.transactions import write_transaction
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import CrawlRun
from archivebox.lib import processes
from archivebox.lib.processes import ExitJournal, Identity, Tree
from archivebox.machine.binary import Binary
from archivebox.machine.process import Process
from archivebox.workers.queue.reclaim import LEASED, abandoned, close_rows, reclaim_dead_workers

log = logging.getLogger(__name__)


def sweep_machine() -> int:
    """At an orchestrator's start: rows, processes and leases of all that came before it; returns what it changed."""
    changed = reclaim_dead_workers()
    with write_transaction():
        changed += close_rows(Process.objects.here().running())
        changed += close_rows(Process.objects.here().never_started())
    changed += _reclaim_ownerless()
    changed += end_orphans()
    _forget_leftovers()
    return changed


def _reclaim_ownerless() -> int:
    """Leases whose owner has no running row on this machine: its lock file was lost with the folder's run/."""
    count = 0
    alive = {row.pk for row in Process.objects.running().of_type(Process.TypeChoices.WORKER)}
    known = set(Process.objects.of_type(Process.TypeChoices.WORKER).here().values_list("pk", flat=True))
    for model in LEASED:
        owners = set(model.rows(owner__isnull=False).values_list("owner", flat=True))
        for owner in owners - alive:
            if owner in known or not Process.objects.filter(pk=owner).exists():
                count += model.rows().reclaim(owner)
    return count


def end_orphans() -> int:
    """End processes of ours that serve nothing any more; live hooks of open Snapshots are left to adopters."""
    count = 0
    for identity, mark in processes.marked(DATA_FOLDER.root).items():
        if _is_wanted(mark, identity):
            continue
        gone = Tree(root=identity, process_id=mark, data_dir=DATA_FOLDER.root).end_blocking(grace=1.0)
        log.info("Ended a stray process action=orphan_ended pid=%d gone=%s", identity.pid, gone)
        count += 1
    return count


def _is_wanted(mark: str, identity: Identity) -> bool:
    """Whether a marked process is one of ours that is meant to run: a command, a server, or a hook to be adopted."""
    try:
        row = Process.objects.filter(pk=UUID(mark)).first()
    except ValueError:
        return False
    if row is None or identity.pid == os.getpid():
        return True  # another version's, or begun a moment ago
    if row.process_type != Process.TypeChoices.HOOK:
        return row.worker_type != "forkserver" or row.status == Process.StatusChoices.RUNNING
    if row.status != Process.StatusChoices.RUNNING:
        return False
    if row.snapshot_id is not None:
        return Snapshot.objects.filter(pk=row.snapshot_id, status="started").exists()
    if row.binary_id is not None:
        return Binary.objects.filter(pk=row.binary_id, status="started").exists()
    return CrawlRun.objects.filter(crawl__pk=row.crawl_id, status="started").exists() if row.crawl_id else False


def _forget_leftovers() -> None:
    """Locks of watchers that are gone, and exit records that nobody waits for."""
    for path in DATA_FOLDER.watchers.glob("*-*"):
        with abandoned(path) as dead:
            if dead:
                path.unlink(missing_ok=True)
    running = {row.identity for row in Process.objects.here().running()}
    journal = ExitJournal(DATA_FOLDER.exits)
    for identity in journal.all():
        if identity not in running:
            journal.forget(identity)


def close_the_last() -> None:
    """At an orchestrator's end: what is a zombie now came to a parent outside, and will not be reaped by us."""
    reclaim_dead_workers()
    with write_transaction():
        close_rows(Process.objects.here().running(), reapers_live=False)
