"""The kinds of work that a worker does: how each is selected, loaded and executed.

A kind is its model (with ``next_due`` and ``end_with_reason``), its executor's module, and one entry here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from archivebox.base_models.work import WorkItem
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import CrawlRun
from archivebox.jobs.models import Job
from archivebox.machine.binary import Binary
from archivebox.webhooks.models import Delivery
from archivebox.workers.execute import binary_executor, crawl_executor, delivery_executor, job_executor
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.execute.page import rows as snapshot_rows
from archivebox.workers.execute.page_run import PageRun
from archivebox.workers.queue.claim import Due
from archivebox.workers.queue.lease import Lease


@dataclass(frozen=True, slots=True)
class WorkKind:
    """One kind of work."""

    model: type[WorkItem]
    load: Callable[[UUID, UUID], Any]
    """Read a leased item, by key and owner, on the database thread; None: it is no longer ours, or was put aside."""
    execute: Callable[[Engine, Lease, Any], LeasedItem]
    """Begin it with what was loaded."""
    select: Callable[[Engine, Sequence[Any]], Due] | None = None
    """By what this worker holds of it, how due items are selected; None: by the turns of crawls (``queue/claim``)."""


WORK_KINDS = (
    WorkKind(Job, job_executor.load, job_executor.JobExecutor, job_executor.select_due),
    WorkKind(Delivery, delivery_executor.load, delivery_executor.DeliveryExecutor, delivery_executor.select_due),
    WorkKind(Binary, binary_executor.load, binary_executor.BinaryExecutor, binary_executor.select_due),
    WorkKind(CrawlRun, crawl_executor.load, crawl_executor.CrawlRunExecutor),
    WorkKind(Snapshot, snapshot_rows.load, PageRun),
)
KIND_OF: dict[type[WorkItem], WorkKind] = {kind.model: kind for kind in WORK_KINDS}
