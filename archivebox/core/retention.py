"""How long Process records stay: old ones of processes that have ended go, failed ones later."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.core.archiveresult import ArchiveResult
from archivebox.machine.process import Process

BATCH = 500
"""Rows of one transaction: short enough that a worker's writes never wait."""
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
    now = timezone.now()
    ended = Process.objects.exited()
    good = ended.filter(id__lt=_first_key(now - older_than), exit_code=0)
    bad = ended.filter(id__lt=_first_key(now - older_than * FAILED_STAY)).filter(~Q(exit_code=0) | Q(exit_code=None))
    if dry_run:
        return Cleaned(good.count(), bad.count())
    return Cleaned(_delete(good), _delete(bad))


def _delete(rows: "models.QuerySet[Process]") -> int:
    count = 0
    last: UUID | None = None
    while True:
        part = rows if last is None else rows.filter(id__gt=last)
        keys = list(part.order_by("id").values_list("pk", flat=True)[:BATCH])
        if not keys:
            return count
        with write_transaction():
            ArchiveResult.objects.filter(process__in=keys).update(process=None)
            count += Process.objects.filter(pk__in=keys).delete()[0]
        last = keys[-1]


def _first_key(moment: datetime) -> UUID:
    """The least UUIDv7 of a moment: its milliseconds, and nothing behind them."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)
