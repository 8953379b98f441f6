"""What people change of a crawl while it waits or runs: what belongs to it, how far it goes, whether it goes on."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.base_models.work import HELD, Request
from archivebox.config.resolve import SettingError
from archivebox.contract.reasons import Reason
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.intake.add_urls import rules_of
from archivebox.core.snapshot import Snapshot
from archivebox.core.versions.url_versions import restore, retire
from archivebox.crawls import control
from archivebox.crawls.admission import Admission, Rules, admit
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import resolve_settings
from archivebox.lib.jsonl import JSON
from archivebox.lib.patterns import compile_patterns

BATCH = 1000
"""Pages that one transaction lets go of: others wait to write meanwhile."""
CANCELLED = Snapshot.StatusChoices.CANCELLED


@dataclass(frozen=True, slots=True)
class QueuedPage:
    """A page in the queue of a crawl, and whether it still belongs there."""

    pk: UUID
    url: str
    depth: int
    answer: Admission


def queue_of(crawl: Crawl) -> "QuerySet[Snapshot, Any]":
    """Pages that wait for their turn, the next first; nobody has begun them."""
    waiting: QuerySet[Snapshot, Any] = crawl.snapshot_set.filter(status=Snapshot.StatusChoices.QUEUED)
    return waiting.filter(owner__isnull=True, retry_at__isnull=False).order_by("retry_at", "pk")


def rules_with(crawl: Crawl, allow: str | None = None, deny: str | None = None) -> Rules:
    """What the crawl takes in now, or would with other patterns (one a line); ValueError names a bad one."""
    rules = replace(rules_of(crawl, resolve_settings(crawl.layers())), max_urls=None, is_named=lambda _url: True)
    if allow is not None:
        rules = replace(rules, allow=compile_patterns(allow))
    return rules if deny is None else replace(rules, deny=compile_patterns(deny))


def judged(pages: "QuerySet[Snapshot, Any]", rules: Rules) -> Iterator[QueuedPage]:
    """Each of the pages with what the intake decides by these rules."""
    for pk, url, depth in pages.values_list("pk", "url", "depth"):
        yield QueuedPage(pk, url, depth, admit(url, rules, depth=depth))


def change(
    crawl: Crawl,
    settings: Mapping[str, JSON],
    *,
    max_depth: int | None = None,
    noting: Callable[[], object] = lambda: None,
) -> int:
    """Have other settings hold for the crawl from now on (None: what holds elsewhere); let go of what it rules out.

    Returns how many pages that was. SettingError where a value is not allowed; then nothing has changed. ``noting``: is
    called in the transaction of the change.
    """
    with write_transaction():
        Crawl.objects.filter(pk=crawl.pk).lock()
        crawl.refresh_from_db(fields=["config", "max_depth", "status"])
        config = {**crawl.config, **settings}
        crawl.config = {name: value for name, value in config.items() if value is not None}
        crawl.max_depth = crawl.max_depth if max_depth is None else max_depth
        try:
            _check(crawl, settings)
        except SettingError:
            crawl.refresh_from_db(fields=["config", "max_depth"])
            raise
        now = {"config": crawl.config, "max_depth": crawl.max_depth, "modified_at": timezone.now()}
        Crawl.objects.filter(pk=crawl.pk).update(**now)
        noting()
    return _prune(crawl)


def _check(crawl: Crawl, names: Mapping[str, JSON]) -> None:
    resolved = resolve_settings(crawl.layers())
    for name in names:
        resolved.get(name)


def exclude(crawl: Crawl, pattern: str, *, noting: Callable[[], object] = lambda: None) -> int:
    """Refuse URLs that match from now on, those in the queue and those at work too. Returns how many were let go."""
    known = resolve_settings(crawl.layers()).get_text("URL_DENYLIST").splitlines()
    return change(crawl, {"URL_DENYLIST": "\n".join(dict.fromkeys([*known, pattern.strip()]))}, noting=noting)


def literally(url: str) -> str:
    """The pattern that matches this URL alone."""
    return f"^{re.escape(url)}$"


def _prune(crawl: Crawl) -> int:
    """Ask the intake again about pages that wait or run; what it refuses never runs, or ends.

    Until nothing is found: a page may be begun, or given back, while the others are looked at.
    """
    rules, gone = rules_with(crawl), set[UUID]()
    while found := _cancel_queued(crawl, rules) | _cancel_at_work(crawl, rules):
        gone |= found  # one that was at work may be found in the queue next, before it has ended
    with write_transaction():
        crawl.wake()
        notify_workers()
    return len(gone)


def _cancel_at_work(crawl: Crawl, rules: Rules) -> set[UUID]:
    held = crawl.snapshot_set.filter(HELD).exclude(request=Request.CANCEL)
    refused = [page.pk for page in judged(held, rules) if not page.answer.admitted]
    return {page.pk for page in Snapshot.objects.filter(pk__in=refused) if control.cancel(page)}


def _cancel_queued(crawl: Crawl, rules: Rules) -> set[UUID]:
    gone, last = set[UUID](), None
    while keys := list(_keys_after(queue_of(crawl), last)):
        last = keys[-1]
        gone |= _cancel_refused(Snapshot.objects.filter(pk__in=keys), rules)
    return gone


def _keys_after(pages: "QuerySet[Snapshot, Any]", last: UUID | None) -> "QuerySet[Snapshot, UUID]":
    rest = pages if last is None else pages.filter(pk__gt=last)
    return rest.order_by("pk").values_list("pk", flat=True)[:BATCH]


def _cancel_refused(pages: "QuerySet[Snapshot, Any]", rules: Rules) -> set[UUID]:
    by_reason: dict[str, list[UUID]] = {}
    for page in judged(pages, rules):
        if not page.answer.admitted:
            by_reason.setdefault(str(page.answer.code), []).append(page.pk)
    with write_transaction():
        for reason, keys in by_reason.items():
            cancel_pages(keys, reason)
        refused = [key for keys in by_reason.values() for key in keys]
        return set(Snapshot.objects.filter(pk__in=refused, status=CANCELLED).values_list("pk", flat=True))


def cancel_pages(keys: list[UUID], reason: str) -> int:
    """Cancel those of these pages that nobody has leased and that are not sealed. Returns how many."""
    rows = Snapshot.objects.filter(pk__in=keys, owner__isnull=True).in_sources_of("cancel")
    rows.lock()
    ArchiveResult.objects.filter(snapshot__in=rows).cancel()
    return rows.transition("cancel", reason=reason)


def cancel_retries(keys: list[UUID]) -> int:
    """Nothing of these sealed pages is tried again, unless somebody has leased them meanwhile. Returns how many."""
    rows = Snapshot.objects.filter(pk__in=keys, owner__isnull=True)
    rows.lock()
    ArchiveResult.objects.filter(snapshot__in=rows).cancel()
    return rows.update(retry_at=None, modified_at=timezone.now())


# --- whether it goes on ---------------------------------------------------------------------------------------------


def discard(crawl: Crawl) -> int:
    """Stop it, and take all of its pages out of every list; :func:`go_on` brings them back. Returns how many."""
    control.cancel(crawl)  # committed by itself: workers lock a page first, and then its crawl
    return retire(crawl.snapshot_set.all())


def go_on(crawl: Crawl) -> bool:
    """Let it go on: after a pause, and after it was stopped or discarded, with the pages that did not run then.

    False when it goes on already.
    """
    if crawl.status == Crawl.StatusChoices.PAUSED:
        return control.resume(crawl)
    is_back = restore(crawl.snapshot_set.all()) > 0
    if crawl.status != CANCELLED or not control.resume(crawl):
        return is_back
    stopped = crawl.snapshot_set.filter(status=CANCELLED, reason=Reason.CANCELLED, owner__isnull=True)
    while keys := list(stopped.values_list("pk", flat=True)[:BATCH]):
        _requeue_pages(crawl, keys)
    return True


def _requeue_pages(crawl: Crawl, keys: list[UUID]) -> None:
    """What was stopped is queued again; the crawl may have been sealed by then for want of anything to do."""
    with write_transaction():
        pages, now = Snapshot.objects.filter(pk__in=keys), timezone.now()
        results = ArchiveResult.objects.filter(snapshot__in=pages, status="skipped", reason=Reason.CANCELLED)
        results.transition("requeue", retry_at=now, reason="")
        for page in pages:
            page.transition("reopen", retry_at=now, reason="")
        crawl.wake()
        notify_workers()
