"""After a crash of all: what an orchestrator finds at its start and leaves at its end.

It ends and puts back; it runs nothing. Sweeping twice changes nothing.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.work import Request, work_models
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import CrawlRun
from archivebox.jobs.models import Job
from archivebox.lib import processes
from archivebox.lib.processes import ExitJournal, ProcessIdentity
from archivebox.machine.binary import Binary
from archivebox.machine.host import Machine
from archivebox.machine.machine_id import is_fleet
from archivebox.machine.process import Process
from archivebox.workers.queue.orphans import end_marked
from archivebox.workers.queue.reclaim import abandoned, reclaim_dead_workers

log = logging.getLogger(__name__)

DRAFT_LASTS = 60.0
"""Seconds after which nobody is still writing a record of an exit."""


def recover_machine() -> int:
    """At an orchestrator's start: rows, processes and leases of all that came before it; returns what it changed."""
    changed = reclaim_dead_workers()
    with write_transaction():
        changed += Process.objects.here().running().close()
        changed += Process.objects.here().never_started().close()
        changed += 0 if is_fleet() else _be_the_only_machine()
    changed += _reclaim_ownerless()
    changed += end_orphans()
    _forget_leftovers()
    return changed


def _be_the_only_machine() -> int:
    """Go on with what this collection was on another machine: copied, or restored without its run/; returns how much.

    Whoever bears the pids of those rows is not ours. What waits for that machine would wait for ever.
    """
    here = Machine.current()
    if not Machine.objects.exclude(pk=here.pk).exists():
        return 0
    former = Process.objects.running().exclude(machine=here)
    count: int = former.transition("lose", ended_at=timezone.now(), end_reason=EndReason.LOST, request=Request.NONE)
    runs, programs = CrawlRun.objects.exclude(machine=here), Binary.objects.exclude(machine=here)
    runs.filter(crawl__in=CrawlRun.objects.filter(machine=here).values("crawl")).delete()
    programs.filter(name__in=Binary.objects.here().values("name")).delete()
    return count + runs.update(machine=here) + programs.update(machine=here)


def _reclaim_ownerless() -> int:
    """Leases of workers that do not run: their lock files were lost with the folder's run/.

    Those of which there is one are reclaimed with their log of starts; who has died since we looked, by the first beat.
    """
    locked = {UUID(path.name) for path in DATA_FOLDER.workers.glob("*-*")}
    workers = Process.objects.of_type(Process.TypeChoices.WORKER)
    held_elsewhere = workers.exclude(machine=Machine.current()) if is_fleet() else workers.none()
    running, elsewhere = (set(rows.values_list("pk", flat=True)) for rows in (workers.running(), held_elsewhere))
    kept = locked | running | elsewhere
    count = 0
    for model in work_models():
        owners = set(model.rows(owner__isnull=False).values_list("owner", flat=True))
        count += sum(model.rows().reclaim(owner) for owner in owners - kept)
    return count


def end_orphans(*, adopters: bool = True) -> int:
    """End processes of ours that serve nothing any more.

    ``adopters``: live hooks of what is open are left to workers that will adopt them.
    """
    found = processes.marked(DATA_FOLDER.root)
    unwanted = {mark for identity, mark in found.items() if not _is_wanted(mark, identity, adopters=adopters)}
    if unwanted:
        gone = end_marked(unwanted)
        log.info("Ended stray processes action=orphans_ended hooks=%d gone=%s", len(unwanted), gone)
    return len(unwanted)


def _is_wanted(mark: str, identity: ProcessIdentity, *, adopters: bool) -> bool:
    """Whether a marked process is one of ours that is meant to run: a command, a server, or a hook to be adopted."""
    try:
        row = Process.objects.filter(pk=UUID(mark)).first()
    except ValueError:
        return False
    if row is None or identity.pid == os.getpid():
        return True  # begun a moment ago
    if row.process_type != Process.TypeChoices.HOOK:
        is_wanted = row.worker_type != "forkserver" or row.status == Process.StatusChoices.RUNNING
        return is_wanted and row.worker_type != "warm"
    if row.status != Process.StatusChoices.RUNNING:
        return False
    if not adopters:
        return Process.objects.running().filter(children=row).exists()  # a command's own
    if row.snapshot_id is not None:
        return Snapshot.objects.filter(pk=row.snapshot_id, status="started").exists()
    if row.binary_id is not None:
        return Binary.objects.filter(pk=row.binary_id, status="started").exists()
    return CrawlRun.objects.filter(crawl__pk=row.crawl_id, status="started").exists() if row.crawl_id else False


def _forget_leftovers() -> None:
    """Delete what nobody needs any more, and whose owner was killed before it could."""
    for path in DATA_FOLDER.watchers.glob("*-*"):
        with abandoned(path) as dead:
            if dead:
                path.unlink(missing_ok=True)
    running = list(Process.objects.here().running())
    identities, crawls = {row.identity for row in running}, {row.crawl_id for row in running}
    journal = ExitJournal(DATA_FOLDER.exits)
    for identity in journal.all():
        if identity not in identities:
            journal.forget(identity)
    drafts = [path for path in DATA_FOLDER.exits.glob(".*.tmp") if path.stat().st_mtime < time.time() - DRAFT_LASTS]
    ports = [path for key, path in _by_key(DATA_FOLDER.crawl_ports, "*-*") if key not in crawls]
    unfinished = Job.objects.filter(status__in=(*Job.OPEN, Job.StatusChoices.PAUSED))
    parts = [path for key, path in _by_key(DATA_FOLDER.exports, "*.part*") if not unfinished.filter(pk=key).exists()]
    for path in (*drafts, *ports, *parts):
        path.unlink(missing_ok=True)
    for key, path in _by_key(DATA_FOLDER.logs, "*.*-*.std*.log"):
        row = Process.objects.filter(pk=key).first()
        if row is None:
            path.unlink(missing_ok=True)
        elif row.status == Process.StatusChoices.EXITED:
            row.store_logs()


def _by_key(folder: Path, pattern: str) -> Iterator[tuple[UUID, Path]]:
    """The files that have the key of a row in their names."""
    for path in folder.glob(pattern):
        for word in path.name.split("."):
            with suppress(ValueError):
                yield UUID(word), path


def close_remaining_rows() -> None:
    """At an orchestrator's end nothing is left: no hook runs, whoever its parent is by now, and no row says so.

    What is a zombie now came to a parent outside, and will not be reaped by us.
    """
    reclaim_dead_workers()
    end_orphans(adopters=False)
    with write_transaction():
        Process.objects.here().running().close(reapers_live=False)
    _forget_leftovers()
