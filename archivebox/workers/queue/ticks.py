"""The life of Crawls as rows: each tick of one starts, checks, seals or reopens it."""

from datetime import timedelta

from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.base_models.work import HELD
from archivebox.contract.reasons import Reason
from archivebox.core.crawl_control.edit_crawl import cancel_pages, cancel_retries
from archivebox.crawls.crawl import Crawl

TICK_WHILE_HELD = timedelta(seconds=1)
"""How soon a cancelled crawl is ticked again for Snapshots that are still their leases'."""
AT_A_TIME = 16
"""Crawls of one poll: each may have a thousand Snapshots to cancel, and others wait to write meanwhile."""
BATCH = 1000
"""Snapshots of a cancelled crawl that one tick cancels: others wait to write meanwhile."""


def tick_crawls() -> None:
    """Start, check, seal and reopen the Crawls that are due, those that have waited longest first."""
    now = timezone.now()
    due = Crawl.objects.due(now)
    for key in list(due.values_list("pk", flat=True)[:AT_A_TIME]):
        with write_transaction():
            for crawl in due.filter(pk=key).select_for_update():  # unless another worker was quicker
                tick(crawl)


def tick(crawl: Crawl) -> None:
    """One tick of a Crawl, with its row locked: what is written here and what it rests on change together."""
    if crawl.status == Crawl.StatusChoices.CANCELLED:
        _cancel_snapshots(crawl)
        return
    if crawl.status == Crawl.StatusChoices.QUEUED:
        crawl.transition("start", retry_at=None)
    wanted = crawl.next_wanted()
    if crawl.status == Crawl.StatusChoices.SEALED:
        if wanted is None or wanted > timezone.now():
            crawl.tick_at(wanted)
            return
        crawl.transition("reopen", retry_at=None)
        notify_workers()
    if crawl.status == Crawl.StatusChoices.STARTED and not crawl.has_pending_children():
        if wanted is not None and wanted <= timezone.now():
            crawl.tick_at(None)
            return
        crawl.transition("seal", retry_at=wanted)
        notify_workers()
    elif crawl.status in {Crawl.StatusChoices.STARTED, Crawl.StatusChoices.PAUSED}:
        crawl.tick_at(None)


def _cancel_snapshots(crawl: Crawl) -> None:
    """What wants to run of a cancelled Crawl never does, a thousand Snapshots a tick; leased ones are their leases'."""
    unsealed = list(crawl.snapshot_set.unsealed().filter(owner__isnull=True).values_list("pk", flat=True)[:BATCH])
    cancel_pages(unsealed, Reason.CANCELLED)
    waiting = list(crawl.snapshot_set.free().values_list("pk", flat=True)[:BATCH])  # sealed but for a retry
    cancel_retries(waiting)
    more, held = BATCH in {len(unsealed), len(waiting)}, crawl.snapshot_set.filter(HELD).exists()
    # A leased one may come back by its worker's death: tick again, but not in a busy loop.
    again = timezone.now() if more else timezone.now() + TICK_WHILE_HELD if held else None
    crawl.tick_at(again)
    if more:
        notify_workers()
