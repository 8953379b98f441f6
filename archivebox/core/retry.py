"""Making work due again: results that failed or wait for their retry."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.doorbell import notify_workers
from archivebox.base_models.transactions import write_transaction
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.crawls.crawl import Crawl

CANCELLED = Q(snapshot__status="cancelled") | Q(snapshot__crawl__status="cancelled")
"""Results of what somebody has cancelled: nothing of it runs again."""
RETRIABLE = (Q(status="backoff") | (Q(status="failed") & ~Q(reason__in=["declared", "cancelled"]))) & ~CANCELLED
"""What `archivebox update` tries again: also what has used up its attempts, not what said "not to be had"."""


def retry_results(results: "models.QuerySet[ArchiveResult]") -> int:
    """Queue these results again, due now, and reopen their Snapshots and Crawls. Returns how many."""
    with write_transaction():
        keys = list(results.exclude(CANCELLED).values_list("pk", "snapshot_id"))
        count = 0
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            # What is queued or running needs no retry, and is its Snapshot's worker's to write.
            rows = ArchiveResult.objects.filter(pk__in=[pk for pk, _ in part]).exclude(
                status__in=ArchiveResultMachine.OPEN
            )
            count += ArchiveResultMachine.apply(
                rows, ArchiveResultMachine.requeue, retry_at=timezone.now(), attempts=0, reason=""
            )
            _reopen({snapshot_id for _, snapshot_id in part})
        notify_workers()
    return count


def retry_missing(snapshots: "models.QuerySet[Snapshot]") -> int:
    """Queue again what these Snapshots lack, and look for hooks that were added since. Returns how many results."""
    sealed = snapshots.filter(status=Snapshot.StatusChoices.SEALED).exclude(crawl__status="cancelled")
    with write_transaction():
        count = retry_results(ArchiveResult.objects.filter(RETRIABLE, snapshot__in=snapshots))
        _reopen(set(sealed.values_list("pk", flat=True)))
        notify_workers()
    return count


def retry_program(name: str) -> int:
    """A program is there now: what failed for want of it is due."""
    return retry_results(ArchiveResult.objects.filter(status="failed", reason=f"missing_binary:{name}"))


def _reopen(snapshot_ids: set[Any]) -> None:
    """Make sealed Snapshots due; their worker reopens them. Their Crawls want a look as well."""
    now = timezone.now()
    waiting = Snapshot.objects.filter(pk__in=snapshot_ids, owner__isnull=True, status=Snapshot.StatusChoices.SEALED)
    waiting.update(retry_at=now)
    crawls = Snapshot.objects.filter(pk__in=snapshot_ids).values("crawl_id")
    Crawl.objects.filter(pk__in=crawls, owner__isnull=True).exclude(status__in=["paused", "cancelled"]).update(
        retry_at=now
    )
