"""Owns what a worker has in its hands: pages, runs of crawls, programs, jobs and messages."""

from collections.abc import Mapping
from uuid import UUID

from archivebox.workers.execute import (
    binary_executor,
    crawl_executor,
    delivery_executor,
    job_executor,
    snapshot_rows,
)
from archivebox.workers.execute.binary_executor import BinaryExecutor
from archivebox.workers.execute.crawl_executor import CrawlRunExecutor
from archivebox.workers.execute.delivery_executor import DeliveryExecutor
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.job_executor import JobExecutor
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.execute.snapshot_executor import SnapshotExecutor
from archivebox.workers.queue.lease import Lease

Loaded = (
    snapshot_rows.Loaded
    | crawl_executor.LoadedCrawlRun
    | binary_executor.LoadedBinary
    | job_executor.LoadedJob
    | delivery_executor.LoadedDelivery
)


class LeasedItems:
    """The objects that one worker holds, by lease."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.pages: dict[Lease, SnapshotExecutor] = {}
        self.crawl_runs: dict[Lease, CrawlRunExecutor] = {}
        self.programs: dict[Lease, BinaryExecutor] = {}
        self.jobs: dict[Lease, JobExecutor] = {}
        self.deliveries: dict[Lease, DeliveryExecutor] = {}

    def begin(self, lease: Lease, loaded: Loaded) -> LeasedItem:
        """Take up what was claimed and loaded: the one place that tells the kinds apart."""
        held: LeasedItem
        match loaded:
            case snapshot_rows.Loaded():
                held = self.pages[lease] = SnapshotExecutor(self._engine, lease, loaded)
            case crawl_executor.LoadedCrawlRun():
                held = self.crawl_runs[lease] = CrawlRunExecutor(self._engine, lease, loaded)
            case job_executor.LoadedJob():
                held = self.jobs[lease] = JobExecutor(self._engine, lease, loaded)
            case delivery_executor.LoadedDelivery():
                held = self.deliveries[lease] = DeliveryExecutor(self._engine, lease, loaded)
            case _:
                held = self.programs[lease] = BinaryExecutor(self._engine, lease, loaded)
        return held

    @property
    def all(self) -> Mapping[Lease, LeasedItem]:
        return {**self.pages, **self.crawl_runs, **self.programs, **self.jobs, **self.deliveries}

    def remove(self, lease: Lease) -> SnapshotExecutor | None:
        """One is over; returns it if it was a page, which tells the run of its crawl."""
        self.crawl_runs.pop(lease, None)
        self.programs.pop(lease, None)
        self.jobs.pop(lease, None)
        self.deliveries.pop(lease, None)
        page = self.pages.pop(lease, None)
        for run in self.crawl_runs.values():
            if page is not None and run.crawl_id == page.snapshot.crawl_id:
                run.on_snapshot_sealed()
        return page

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
