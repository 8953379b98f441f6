"""What a worker asks of the database in one poll: work that is due, requests, programs."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from archivebox.base_models.transactions import unflushed_transactions, write_transaction
from archivebox.base_models.transient import retry_transient
from archivebox.base_models.work import HELD, Request
from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl, CrawlRun
from archivebox.lib.system_calls import seconds_since_boot
from archivebox.machine.binary import Binary
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from archivebox.workers.execute import crawl_executor
from archivebox.workers.execute.work_kinds import KIND_OF, WORK_KINDS
from archivebox.workers.queue import claim, watchers
from archivebox.workers.queue.claim import Claimed, FetchRequest
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import (
    end_with_reason,
    folder_unusable,
    is_of_folder,
    misconfigured,
    postpone_crawl,
)

log = logging.getLogger(__name__)

OF_CRAWLS_ABOVE = {Crawl.StatusChoices.PAUSED: "release", Crawl.StatusChoices.CANCELLED: "cancel"}
"""What the state of a Crawl means for what is held of it."""


@dataclass(slots=True)
class Polled:
    """What one poll found. What it took is loaded: its worker can begin."""

    claimed: Claimed
    asked_at: float
    """When, by the clock of :func:`seconds_since_boot`: leases that it took are at least as long from then on."""
    loaded: dict[Lease, Any] = field(default_factory=dict)
    asked: dict[UUID, str] = field(default_factory=dict)
    """Key of an item that this worker holds → the event that somebody asked for."""
    killed: list[UUID] = field(default_factory=list)
    """Processes that somebody wants ended."""
    unneeded: list[UUID] = field(default_factory=list)
    """Of the crawls that were asked about: those whose browser no Snapshot needs any more."""
    program_status: dict[str, str] = field(default_factory=dict)
    program_paths: dict[str, str] = field(default_factory=dict)
    program_versions: dict[str, str] = field(default_factory=dict)


def poll(who: FetchRequest, idle_crawls: Mapping[UUID, bool], held: Collection[UUID]) -> Polled:
    """One visit; while the database is away, another, after what was claimed in vain was given back.

    ``held``: keys of what this worker works on.
    """
    visit = partial(_visit, who, idle_crawls, held)
    return retry_transient(visit, before_again=partial(_release_unknown, who.worker, held))


def _release_unknown(worker: UUID, held: Collection[UUID]) -> None:
    """Leases of this worker that it knows nothing of: they were committed by a visit that came to no end."""
    with write_transaction():
        for kind in WORK_KINDS:
            kind.model.rows(owner=worker).exclude(pk__in=held).release(worker)


def _visit(who: FetchRequest, idle_crawls: Mapping[UUID, bool], held: Collection[UUID]) -> Polled:
    """Take what is due and load it, and read everything else that a worker has to know now. On the database thread.

    ``idle_crawls``: whose run this worker holds, and of which it has no Snapshot in a step; True: it makes room.
    """
    who = replace(who, scope=watchers.scope())
    with unflushed_transactions():
        asked_at = seconds_since_boot()
        claimed = claim.claim_work(who) if who.readiness.may_begin() else Claimed(next_at=_drain_ends())
        polled = Polled(claimed, asked_at)
        _load_all(polled)
        if any(isinstance(one, crawl_executor.LoadedCrawlRun) and one.is_ready for one in polled.loaded.values()):
            claim.claim_snapshots(polled.claimed, who)
            _load_all(polled)
    # After the loads: what was claimed may have been cancelled long ago, and must not start.
    polled.asked = given_back(who, held) | requests(who.worker)
    killed = Process.objects.running().filter(machine_id=who.machine, request=Request.KILL)
    polled.killed = list(killed.values_list("pk", flat=True))
    polled.unneeded = [
        crawl for crawl, yields in idle_crawls.items() if _close_if_unneeded(crawl, who.worker, yields=yields)
    ]
    programs = Binary.objects.filter(machine_id=who.machine)
    for name, status, path, version in programs.values_list("name", "status", "abspath", "version"):
        polled.program_status[name] = status
        if path:
            polled.program_paths[name] = path
            polled.program_versions[name] = version
    return polled


def _load_all(polled: Polled) -> None:
    """What was claimed and is not loaded yet."""
    for lease in polled.claimed.leases():
        if lease not in polled.loaded and (loaded := _load(lease)) is not None:
            polled.loaded[lease] = loaded


def _load(lease: Lease) -> Any:
    """What a worker needs of one item; None: it is no longer ours, or was put aside."""
    try:
        return KIND_OF[lease.model].load(lease.pk, lease.owner)
    except OSError as error:
        if not is_of_folder(error):
            raise
        log.warning("%s %s is put aside: %s action=end_with_reason", lease.model.__name__, lease.pk, error)
        end_with_reason(lease, folder_unusable(error))
        return None
    except (ConfError, SettingError) as error:
        log.warning("%s %s is put aside: %s action=end_with_reason", lease.model.__name__, lease.pk, error)
        postpone_crawl(lease, misconfigured(error))
        return None


def requests(worker: UUID) -> dict[UUID, str]:
    """What was asked of the items that a worker holds, or of the Crawls above them."""
    return {key: str(request) or OF_CRAWLS_ABOVE[status] for key, request, status in _asked(worker)}


def given_back(who: FetchRequest, held: Collection[UUID]) -> dict[UUID, str]:
    """What a draining machine gives back: the runs of crawls that serve none of its pages; when its time is over, all.

    No page is claimed on such a machine, so that these runs serve none later either.
    """
    machine = Machine.current()
    if machine.drain_by is None:
        return {}
    is_over = machine.drain_by <= timezone.now()
    return dict.fromkeys(held if is_over else _idle_runs(who.worker, who.machine), "release")


def _drain_ends() -> datetime | None:
    """When this machine gives back what it holds, where that is still to come."""
    moment = Machine.current().drain_by
    return moment if moment is not None and moment > timezone.now() else None


def is_needed(crawl_id: UUID, *, yields: bool = False) -> bool:
    """Whether a Snapshot of the crawl runs, or wants to; what only waits for downloads needs no browser.

    ``yields``: it makes room for another crawl, so that those that want to run do not count.
    """
    if yields:
        return bool(_page_held(crawl_id))
    return bool(_page_wanted(crawl_id) or _page_held(crawl_id) or _retry_due(crawl_id, timezone.now()))


def _close_if_unneeded(crawl_id: UUID, worker: UUID, *, yields: bool) -> bool:
    """Whether no Snapshot needs the run of a crawl; from then on none is begun with it, until it is started again.

    Its browser takes a moment to end. A retry that falls due then would wait in vain for a tab of it.
    """
    if is_needed(crawl_id, yields=yields):
        return False
    with write_transaction():
        is_unneeded = not is_needed(crawl_id, yields=yields)
        if is_unneeded:
            CrawlRun.rows(crawl_id=crawl_id, owner=worker, ready_at__isnull=False).update(ready_at=None)
    return is_unneeded


def _asked(worker: UUID) -> QuerySet[Any, Any]:
    """Of whatever a worker holds: what was asked of it, or the state of its Crawl where that asks for something."""
    asked = ~Q(request="") | Q(crawl__status__in=list(OF_CRAWLS_ABOVE))
    of_crawls = [model.rows(owner=worker).filter(asked) for model in (Snapshot, CrawlRun)]
    others = [kind.model.rows(owner=worker).exclude(request="") for kind in WORK_KINDS if kind.select is not None]
    first, *rest = [rows.values_list("pk", "request", "crawl__status") for rows in of_crawls]
    return first.union(*rest, *(rows.values_list("pk", "request", "status") for rows in others), all=True)


def _idle_runs(worker: UUID, machine: UUID) -> QuerySet[Any, UUID]:
    """Runs of crawls that a worker holds, and of whose pages no worker of its machine has one at work."""
    workers = Process.objects.filter(machine_id=machine).of_type(Process.TypeChoices.WORKER).values("pk")
    pages = Snapshot.objects.filter(HELD, crawl_id=OuterRef("crawl_id"), finishing=False, owner__in=workers)
    return CrawlRun.rows(owner=worker).filter(~Exists(pages)).values_list("pk", flat=True)


def _page_wanted(crawl_id: UUID) -> QuerySet[Snapshot, Any]:
    """The index of wanted pages in its own order: those that never ran come first, before what waits for a retry."""
    open_ones = Snapshot.objects.free().filter(
        crawl_id=crawl_id, status__in=Snapshot.OPEN, crawl__status__in=Crawl.OPEN
    )
    return open_ones.order_by("retry_at").values_list("pk")[:1]


def _page_held(crawl_id: UUID) -> QuerySet[Snapshot, Any]:
    held = Snapshot.objects.filter(HELD, crawl_id=crawl_id, finishing=False, crawl__status__in=Crawl.OPEN)
    return held.order_by("owner").values_list("pk")[:1]


def _retry_due(crawl_id: UUID, now: datetime) -> QuerySet[Snapshot, Any]:
    due = Snapshot.objects.free().filter(crawl_id=crawl_id, retry_at__lte=now, crawl__status__in=Crawl.OPEN)
    return due.order_by("retry_at").values_list("pk")[:1]
