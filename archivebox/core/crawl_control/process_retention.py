"""How long Process records stay: old ones of processes that have ended go, failed ones later."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.core.archiveresult import ArchiveResult
from archivebox.machine.periodic import DAILY, periodic_task, repeat_at_once
from archivebox.machine.process import Process

BATCH = 500
"""Rows of one transaction: short enough that a worker's writes never wait."""
TASK = "process_retention"
FAILED_STAY = 3
"""Records of failed processes stay so many times as long."""


@dataclass(slots=True)
class Cleaned:
    """What one clean-up did, or would do."""

    succeeded: int = 0
    failed: int = 0


def cleanup_processes(older_than: timedelta, *, dry_run: bool = False) -> Cleaned:
    """Delete records of processes that ended more than ``older_than`` ago, failed ones after three times that.

    By key range (UUIDv7 is in order of time), in short batches. What an ArchiveResult came to stays on it; only its
    pointer to the deleted record is cleared. Records of processes that still run stay, however old.
    """
    good, bad = _old(older_than)
    if dry_run:
        return Cleaned(good.count(), bad.count())
    return Cleaned(_delete(good), _delete(bad))


def cleanup_today(days: float) -> bool:
    """One batch of each day's clean-up of records older than ``days`` (0: none); whether there may be more of it.

    Called again and again by every worker of every machine.
    """
    if not days:
        return False
    with periodic_task(TASK, DAILY) as is_due:
        there_is_more = is_due and any(_delete_batch(rows) for rows in _old(timedelta(days=days)))
        if there_is_more:
            repeat_at_once(TASK)
        return there_is_more


def _old(older_than: timedelta) -> tuple["models.QuerySet[Process]", "models.QuerySet[Process]"]:
    """Those that ended well, and those that failed; of each what has stayed long enough."""
    now, ended = timezone.now(), Process.objects.exited()
    good = ended.filter(id__lt=_first_key(now - older_than), exit_code=0)
    bad = ended.filter(id__lt=_first_key(now - older_than * FAILED_STAY)).filter(~Q(exit_code=0) | Q(exit_code=None))
    return good, bad


def _delete(rows: "models.QuerySet[Process]") -> int:
    return sum(iter(lambda: _delete_batch(rows), 0))


def _delete_batch(rows: "models.QuerySet[Process]") -> int:
    keys = list(rows.order_by("id").values_list("pk", flat=True)[:BATCH])
    if not keys:
        return 0
    with write_transaction():
        ArchiveResult.objects.filter(process__in=keys).update(process=None)
        count: int = Process.objects.filter(pk__in=keys).delete()[0]
    return count


def _first_key(moment: datetime) -> UUID:
    """The least UUIDv7 of a moment: its milliseconds, and nothing behind them."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)
