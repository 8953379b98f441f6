"""Making work due again: results that failed or wait for their retry.

A result without an owner is queued at once. One whose page is leased gets a ``retry_at`` alone: its worker may be about
to seal the page, does so with that moment, and whoever takes the page next runs it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from django.db import models
from django.db.models import Case, Count, Exists, F, OuterRef, Q, Value, When
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.contract.failures import FINAL, NOT_THE_PAGE
from archivebox.contract.reasons import Reason
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot, chosen_hooks
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.crawls.crawl import Crawl
from archivebox.lib.batches import batches

CANCELLED = Q(snapshot__status="cancelled") | Q(snapshot__crawl__status="cancelled")
"""Results of what somebody has cancelled: nothing of it runs again."""
RETRIABLE = (
    (Q(status="backoff") | (Q(status="failed") & ~Q(reason__in=sorted(FINAL))))
    & ~CANCELLED
    & Q(hook_name__isnull=False)
)
"""What `archivebox update` tries again: also what has used up its attempts, not what said "not to be had".

Nothing of an imported page: its files are those of another day. A new version is captured instead.
"""
_REASON = Case(When(reason__in=sorted(NOT_THE_PAGE), then=F("reason")), default=Value(""))
"""That what was kept is no page is known by the reason of its navigation, until that has found the page."""
BATCH = 500
"""Rows that one statement speaks of."""


def retry_results(results: "models.QuerySet[ArchiveResult]") -> int:
    """Have these results run again, now, and reopen their Snapshots and Crawls. Returns how many."""
    with write_transaction():
        found = results.exclude(CANCELLED).order_by("snapshot_id").values_list("pk", "snapshot_id")
        rows = list(found)
        parts = batches(rows, BATCH)
        count = sum(_run_again([pk for pk, _ in part], {page for _, page in part}) for part in parts)
        _wake_crawls({page for _, page in rows})
    return count


def retry_failed(snapshots: "models.QuerySet[Snapshot]", plugins: Sequence[str] = (), reason: str = "") -> int:
    """Have run again what failed, or waits for its retry, of these Snapshots. Returns how many results.

    Only of ``plugins``, and only what failed for ``reason`` (a code, with or without its detail), if they are given.
    """
    results = ArchiveResult.objects.filter(RETRIABLE, snapshot__in=snapshots.order_by().values("pk"))
    if plugins:
        results = results.filter(plugin__in=plugins)
    if reason:
        results = results.filter(Q(reason=reason) | Q(reason__startswith=f"{reason}:"))
    return retry_results(results)


def retry_missing(snapshots: "models.QuerySet[Snapshot]") -> int:
    """Queue again what these Snapshots lack, and look for hooks that were added since. Returns how many results."""
    sealed = _updatable(snapshots)
    with write_transaction():
        pages = set(sealed.values_list("pk", flat=True))
        _reopen(Snapshot.objects.filter(pk__in=pages))
        count = retry_results(ArchiveResult.objects.filter(RETRIABLE, snapshot__in=snapshots))
        _wake_crawls(pages)
    return count


def lacking_hooks(snapshots: "models.QuerySet[Snapshot]", plugins: Collection[str] = ()) -> list[UUID]:
    """Sealed pages that have fewer results than their settings choose hooks (of ``plugins``, if any are named).

    A plugin came after them, or was chosen for their crawl later.
    """
    sealed = _updatable(snapshots)
    return [
        page
        for crawl_id, config in sealed.order_by().values_list("crawl_id", "config").distinct()
        for page in _lacking(sealed.filter(crawl_id=crawl_id, config=config), plugins)
    ]


def _updatable(snapshots: "models.QuerySet[Snapshot]") -> "models.QuerySet[Snapshot]":
    """Sealed pages that hooks of ours have captured."""
    sealed = snapshots.filter(status=Snapshot.StatusChoices.SEALED).exclude(crawl__status="cancelled")
    return sealed.exclude(Exists(ArchiveResult.objects.filter(snapshot=OuterRef("pk"), hook_name__isnull=True)))


def _lacking(alike: "models.QuerySet[Snapshot]", plugins: Collection[str]) -> Iterable[UUID]:
    """Of pages that have the same settings."""
    page = alike.select_related("crawl").first()
    hooks = chosen_hooks(page.settings()) if page is not None else []
    chosen = Counter(hook.plugin for hook in hooks if not plugins or hook.plugin in plugins)
    counted = alike.annotate(known=Count("archiveresult", filter=Q(archiveresult__plugin__in=list(chosen))))
    return counted.filter(known__lt=chosen.total()).values_list("pk", flat=True)


def retry_program(name: str) -> int:
    """A program is there now: what failed for want of it is due."""
    return retry_results(ArchiveResult.objects.filter(status="failed", reason=Reason.MISSING_BINARY.of(name)))


def _run_again(keys: list[UUID], page_ids: set[UUID]) -> int:
    now, pages = timezone.now(), Snapshot.objects.filter(pk__in=page_ids)
    pages.lock()
    # What is queued or running needs no retry, and is its Snapshot's worker's to write.
    rows = ArchiveResult.objects.filter(pk__in=keys).exclude(status__in=ArchiveResultMachine.OPEN)
    count: int = rows.filter(snapshot__owner__isnull=False).update(retry_at=now, attempts=0)
    free = rows.filter(snapshot__owner__isnull=True)
    count += free.transition("requeue", retry_at=now, attempts=0, reason=_REASON)
    _reopen(pages)
    return count


def _reopen(pages: "models.QuerySet[Snapshot]") -> None:
    """Make sealed Snapshots due; their worker reopens them."""
    pages.filter(owner__isnull=True, status=Snapshot.StatusChoices.SEALED).update(retry_at=timezone.now())


def _wake_crawls(page_ids: set[UUID]) -> None:
    """Last of all: a worker that seals a page locks the page first, too, and then its Crawl."""
    crawls = Crawl.objects.filter(owner__isnull=True).exclude(status__in=["paused", "cancelled"])
    for part in batches(sorted(page_ids), BATCH):
        of_these = Snapshot.objects.filter(pk__in=part).values("crawl_id")
        crawls.filter(pk__in=of_these).update(retry_at=timezone.now())
    notify_workers()
