"""Owns queueing hooks of plugins for pages that are there, also of plugins that nobody chose for them before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from archivebox.base_models.transactions import write_transaction
from archivebox.config.resolve import Resolved
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.crawl_control.retry import RETRIABLE, retry_results
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import plugins
from archivebox.lib.batches import batches
from archivebox.lib.jsonl import JSON

BATCH = 100
"""Pages of one transaction: others wait to write meanwhile."""
DONE = ("succeeded", "queued", "started")
"""Results that are not made anew."""


@dataclass(slots=True)
class QueuedHooks:
    """What was queued, and for which pages nothing could be."""

    results: list[UUID] = field(default_factory=list)
    refused: list[UUID] = field(default_factory=list)
    """A worker has the page, or somebody cancelled it."""


def queue_plugins(pages: Sequence[UUID], names: Sequence[str]) -> QueuedHooks:
    """Have hooks of these plugins run for pages; of none, what each page lacks. What succeeded stays."""
    queued = QueuedHooks()
    for keys in batches(pages, BATCH):
        with write_transaction():
            rows, wanted = Snapshot.objects.filter(pk__in=keys), set[UUID]()
            rows.lock()
            for page in rows.select_related("crawl").order_by("pk"):
                if page.owner is not None or "cancelled" in (page.status, page.crawl.status):
                    queued.refused.append(page.pk)
                else:
                    wanted |= _add_results(page, names)
            results = ArchiveResult.objects.filter(pk__in=wanted)
            retry_results(results)
            queued.results += results.filter(status="queued").order_by("pk").values_list("pk", flat=True)
    return queued


def _add_results(page: Snapshot, names: Sequence[str]) -> set[UUID]:
    """The keys of the results of a page that are to run, with those that it did not have."""
    if changed := _choosing(page.settings(), names):
        page.config = {**page.config, **changed}
        Snapshot.objects.filter(pk=page.pk).update(config=page.config)
    fresh = {result.pk for result in page.create_pending_archiveresults() if not names or result.plugin in names}
    known = page.archiveresult_set.filter(plugin__in=names).exclude(status__in=DONE)
    chosen = known if names else page.archiveresult_set.filter(RETRIABLE)
    return fresh | set(chosen.values_list("pk", flat=True))


def _choosing(settings: Resolved, names: Iterable[str]) -> dict[str, JSON]:
    """Settings of a page by which these plugins run for it, too."""
    changed: dict[str, JSON] = {}
    missing = [name for name in names if not settings.is_chosen(name)]
    if missing:
        changed["PLUGINS"] = [*settings.get_list("PLUGINS"), *missing]
    for name in names:
        if settings.get(plugins()[name].enabled_setting) is False:
            changed[plugins()[name].enabled_setting] = True
    return changed
