"""The life of Crawls as rows: each look at one starts, checks, seals or reopens it."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, models
from django.utils import timezone

from archivebox.base_models.doorbell import notify_workers
from archivebox.base_models.prepared import PreparedQuery, Rows
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.work import HELD
from archivebox.contract.reasons import Reason
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl

LOOK_AT_HELD = timedelta(seconds=1)
"""How soon a cancelled crawl looks again at Snapshots that are still their leases'."""


def tick_crawls() -> None:
    """Start, check, seal and reopen the Crawls that want a look, those that have waited longest first."""
    now = timezone.now()
    for (key,) in _crawls_due(now):
        with write_transaction():
            for crawl in _crawl_locked(key, now):  # unless another worker was quicker
                tick(crawl)


def tick(crawl: Crawl) -> None:
    """One look at a Crawl, with its row locked: what is written here and what it rests on change together."""
    if crawl.status == Crawl.StatusChoices.CANCELLED:
        _cancel_snapshots(crawl)
        return
    if crawl.status == Crawl.StatusChoices.QUEUED:
        crawl.transition("start", retry_at=None)
    wanted = crawl.next_wanted()
    if crawl.status == Crawl.StatusChoices.SEALED:
        if wanted is None or wanted > timezone.now():
            crawl.look_at(wanted)
            return
        crawl.transition("reopen", retry_at=None)
        notify_workers()
    if crawl.status == Crawl.StatusChoices.STARTED and not crawl.has_pending_children():
        if wanted is not None and wanted <= timezone.now():
            crawl.look_at(None)
            return
        crawl.transition("seal", retry_at=wanted)
        notify_workers()
    elif crawl.status in {Crawl.StatusChoices.STARTED, Crawl.StatusChoices.PAUSED}:
        crawl.look_at(None)


def _cancel_snapshots(crawl: Crawl) -> None:
    """The queued Snapshots of a cancelled Crawl follow it, a thousand a look; leased ones are their leases'."""
    free = crawl.snapshot_set.unsealed().filter(owner__isnull=True)
    keys = list(free.values_list("pk", flat=True)[:1000])
    rows = Snapshot.objects.filter(pk__in=keys, owner__isnull=True)
    rows.update(status="cancelled", reason=Reason.CANCELLED, retry_at=None, modified_at=timezone.now())
    more, held = len(keys) == 1000, crawl.snapshot_set.filter(HELD).exists()
    # A leased one may come back by its worker's death: look again, but not in a circle.
    again = timezone.now() if more else timezone.now() + LOOK_AT_HELD if held else None
    crawl.look_at(again)
    if more:
        notify_workers()


@PreparedQuery
def _crawls_due(now: datetime) -> Rows:
    """So many at a look: each may have a thousand Snapshots to cancel, and others wait to write meanwhile."""
    return Crawl.objects.due(now).values_list("pk")[:16]


@PreparedQuery
def _crawl_locked(crawl: UUID, now: datetime) -> models.QuerySet[Crawl]:
    rows = Crawl.objects.due(now).filter(pk=crawl)
    return rows.select_for_update() if connection.features.has_select_for_update else rows
