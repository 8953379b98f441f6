"""Owns when what failed for want of time or memory is tried again: once the machine is idle, or after ``IDLE_WAIT``."""

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.contract.reasons import Reason
from archivebox.core.archiveresult import IDLE_WAIT, ArchiveResult, is_due_when_idle
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.lib.machine_load import is_busy, is_short_of_memory

MAY_WAIT_FOR_IDLE = (Reason.TIMEOUT, Reason.TEMPORARY_FAILURE, Reason.SIGNALLED, Reason.CRASHED)


def retry_when_idle() -> int:
    """Make due what waits for nothing but an idle machine, if this one is idle; returns how many results these are.

    What waits because its server said so is left alone.
    """
    if is_busy() or is_short_of_memory():
        return 0
    now = timezone.now()
    waiting = ArchiveResult.objects.in_back_off().filter(retry_at__gt=now, retry_at__lte=now + IDLE_WAIT)
    rows = waiting.exclude(output_json__retry_after__gt=0).values_list(
        "pk", "reason", "end_ts", "retry_at", "attempts", "snapshot_id", "snapshot__crawl_id"
    )
    due = [
        (key, page, crawl)
        for key, reason, ended, retry_at, attempts, page, crawl in rows
        if reason.partition(":")[0] in MAY_WAIT_FOR_IDLE and is_due_when_idle(ended, retry_at, attempts, now)
    ]
    if not due:
        return 0
    results, pages, crawls = zip(*due, strict=True)
    with write_transaction():
        count = waiting.filter(pk__in=results).update(retry_at=now)
        Snapshot.objects.free().filter(pk__in=pages, retry_at__gt=now).update(retry_at=now)
        Crawl.objects.free().filter(pk__in=crawls, retry_at__gt=now).update(retry_at=now)
        notify_workers()
    return count
