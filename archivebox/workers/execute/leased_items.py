"""Owns what a worker holds, by kind of work."""

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from archivebox.base_models.work import WorkItem
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import CrawlRun
from archivebox.workers.execute.crawl_executor import CrawlRunExecutor
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.execute.page_run import PageRun
from archivebox.workers.execute.work_kinds import KIND_OF, WORK_KINDS
from archivebox.workers.queue.claim import DueSelection
from archivebox.workers.queue.lease import Lease


class LeasedItems:
    """The objects that one worker holds, by lease."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._by_kind: dict[type[WorkItem], dict[Lease, LeasedItem]] = {kind.model: {} for kind in WORK_KINDS}
        self.pages = cast("dict[Lease, PageRun]", self._by_kind[Snapshot])
        self.crawl_runs = cast("dict[Lease, CrawlRunExecutor]", self._by_kind[CrawlRun])

    def begin(self, lease: Lease, loaded: Any) -> LeasedItem:
        """Execute what was claimed and loaded."""
        item = KIND_OF[lease.model].execute(self._engine, lease, loaded)
        self._by_kind[lease.model][lease] = item
        return item

    @property
    def all(self) -> Mapping[Lease, LeasedItem]:
        return {lease: item for items in self._by_kind.values() for lease, item in items.items()}

    def selections(self) -> list[DueSelection]:
        """What of each kind without turns this worker has capacity for now."""
        return [
            DueSelection(kind.model, kind.select(self._engine, list(self._by_kind[kind.model].values())))
            for kind in WORK_KINDS
            if kind.select is not None
        ]

    def remove(self, lease: Lease) -> PageRun | None:
        """One is over; returns it if it was a page, which tells the run of its crawl."""
        item = self._by_kind[lease.model].pop(lease, None)
        if not isinstance(item, PageRun):
            return None
        for run in self.crawl_runs.values():
            if run.crawl_id == item.snapshot.crawl_id:
                run.on_snapshot_sealed()
        return item

    def crawls(self) -> set[UUID]:
        """Those of which something is at work here."""
        pages = {page.snapshot.crawl_id for page in self.pages.values()}
        return pages | {run.crawl_id for run in self.crawl_runs.values()}

    def browsers(self) -> list[CrawlRunExecutor]:
        """The runs of crawls that hold a browser or the like here."""
        return [run for run in self.crawl_runs.values() if run.holds_something]

    def idle_crawl_runs(self) -> dict[UUID, CrawlRunExecutor]:
        """By crawl: the runs held here that serve no page of this worker."""
        served = {page.snapshot.crawl_id for page in self.pages.values() if page.is_in_step}
        held = (run for run in self.crawl_runs.values() if not run.ending)
        return {run.crawl_id: run for run in held if run.crawl_id not in served}
