"""After a worker's death: what it held goes back to the queue, and its processes are put on record.

It runs nothing; it only puts work back. Reclaiming twice changes nothing.
"""

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.base_models.work import MOST_BACK_OFF, work_models
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.intake.schedules import end_impossible_schedules
from archivebox.lib import processes
from archivebox.lib.processes import ProcessIdentity, SpawnEntry, SpawnLog
from archivebox.lib.system_calls import is_at
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from archivebox.machine.process_row import exited_columns
from archivebox.workers.queue import hosts

log = logging.getLogger(__name__)

WEIGHT_ALONE = 5
"""What a worker's death counts for what it held, where its orchestrator lives on. Where all died at once it counts 1:
then the machine is the likely cause, but a page that ends all of a container's processes must not do so for ever."""


def reclaim_dead_workers() -> int:
    """Reclaim for every worker of this folder whose lock nobody holds any more; returns how many items came back."""
    count = 0
    for path in sorted(DATA_FOLDER.workers.glob("*-*")):
        with abandoned(path) as dead:
            if dead:
                count += reclaim(UUID(path.name))
                path.unlink(missing_ok=True)
    return count


@contextmanager
def abandoned(path: Path) -> Iterator[bool]:
    """Hold the lock of a dead worker; False while it lives, or another is reclaiming it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield is_at(descriptor, path)
    finally:
        os.close(descriptor)


def reclaim(worker_id: UUID) -> int:
    """Its spawn log becomes rows, its rows say how its processes ended, its items are due; then the log goes."""
    log_path = DATA_FOLDER.spawn_log(worker_id)
    with write_transaction():
        for entry in SpawnLog.read(log_path):
            record_start(entry, worker_id)
        Process.objects.here().running().filter(Q(parent_id=worker_id) | Q(pk=worker_id)).close()
        weight = WEIGHT_ALONE if _died_alone(worker_id) else 1
        count = sum(model.rows().reclaim(worker_id, weight) for model in work_models())
        notify_workers()
    log_path.unlink(missing_ok=True)
    shutil.rmtree(DATA_FOLDER.warm_hooks(worker_id), ignore_errors=True)
    if count:
        log.info("Took back %d items of a dead worker action=reclaimed worker=%s", count, worker_id)
    return count


def _died_alone(worker_id: UUID) -> bool:
    """Whether the orchestrator that had started this worker still runs."""
    orchestrators = Process.objects.filter(pk__in=Process.objects.filter(pk=worker_id).values("parent_id"))
    return any(orchestrator.is_running for orchestrator in orchestrators)


def end_impossible_waits() -> int:
    """What waits for longer than anything may was written by a clock that has been set back since: it is due."""
    now = timezone.now()
    waiting: list[models.QuerySet[Any]] = [model.rows().scheduled_beyond_maximum(now) for model in work_models()]
    waiting.append(ArchiveResult.objects.in_back_off().filter(retry_at__gt=now + MOST_BACK_OFF))
    count = end_impossible_schedules() + hosts.end_impossible_delays()
    if not any(rows.exists() for rows in waiting):
        return count
    with write_transaction():
        return count + sum(rows.update(retry_at=now) for rows in waiting)


def record_start(entry: SpawnEntry, worker_id: UUID) -> None:
    """A start whose row was not committed yet."""
    key = UUID(entry.process_id)
    fields = {name: value for name, value in entry.row.items() if name in _COLUMNS}
    on_record = Process.objects.filter(pk=key)
    if on_record.exists():
        on_record.filter(worker_type="warm").update(**fields)  # it may have been told of its crawl since
        return
    identity = entry.identity or _find_by_mark(entry.process_id)
    row = Process(pk=key, **{"parent_id": worker_id, "machine_id": _machine_of(worker_id), **fields})
    if identity is not None:
        row.set_identity(identity)
        row.started_at = timezone.now()
    else:
        row.set_columns(exited_columns(processes.UNSEEN))
        row.started_at = row.ended_at
    row.save(force_insert=True)


def _machine_of(worker_id: UUID) -> UUID:
    """Where a worker ran: the log of its starts may have been copied with the folder."""
    rows = Process.objects.filter(pk=worker_id).values_list("machine_id", flat=True)
    return next(iter(rows), Machine.current().pk)


_COLUMNS = frozenset(field.attname for field in Process._meta.concrete_fields)


def _find_by_mark(process_id: str) -> ProcessIdentity | None:
    """The oldest of its tree. Who passes execve(2) shows no mark for a moment: nobody is lost for that."""
    for pause in (processes.EXEC_SECONDS, 0.0):
        bearers = processes.marked(DATA_FOLDER.root).items()
        found = [identity for identity, mark in bearers if mark == process_id]
        if found:
            return min(found, key=lambda identity: (identity.start_ticks, identity.pid))  # a tick is long: 10 ms
        time.sleep(pause)
    return None


def close_orphaned_programs() -> int:
    """Put on record the end of programs whose starter was killed, such as a browser of a worker; returns how many.

    What hooks have started is closed with their page.
    """
    orphans = Process.objects.here().running().of_type(Process.TypeChoices.BINARY)
    orphans = orphans.filter(parent__status=Process.StatusChoices.EXITED)
    return orphans.exclude(parent__process_type=Process.TypeChoices.HOOK).close(reapers_live=False)
