"""Who gets which work next: crawls in turn, hosts politely, and within a host the longest waiting page.

Every function runs on the database thread. Crawl ticks, CrawlRuns and work that has no turns come first and never
count; Snapshots are claimed only of crawls whose run on this machine is ready for them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models
from django.utils import timezone

from archivebox.base_models.transactions import lock_names, write_transaction
from archivebox.base_models.work import HELD, WorkItem
from archivebox.core.intake.schedules import start_due
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import CrawlRun
from archivebox.machine.process import Process
from archivebox.workers.queue.due import (
    Allowance,
    Cursor,
    due,
    due_among,
    has_fresh_page_due,
    has_page_due,
    next_wanted,
    open_crawls,
)
from archivebox.workers.queue.hosts import blocked_hosts, visited
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.placement import JOIN_AFTER, may_open
from archivebox.workers.queue.readiness_check import ReadinessCheck
from archivebox.workers.queue.ticks import tick_crawls
from archivebox.workers.queue.watchers import Scope

RETRY_SCAN_LIMIT = 8
"""Crawls that are looked at when there is no more room for fresh pages."""


class Capacity(NamedTuple):
    """How much more a worker takes: Snapshots, and crawls of which it holds a browser or the like.

    Of both also how many of these may be there for nothing but another try: those that never ran have room beside them.
    """

    snapshots: int
    retries: int
    crawls: int
    retried_crawls: int
    beyond: bool = True
    """Whether pages are taken beyond that: those of dead workers whose hooks still run, and one of each idle crawl."""


Due = Callable[["FetchRequest", datetime], list[UUID]]
"""Keys of what is due of one kind, on the database thread: as many as the worker has capacity for."""


class DueSelection(NamedTuple):
    """A kind of work that crawls have no turns in, and what of it this worker has capacity for."""

    model: type[WorkItem]
    due: Due


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """The worker that looks for work."""

    worker: UUID
    machine: UUID
    capacity: Capacity
    cursor: Cursor
    scope: Scope | None = None
    readiness: ReadinessCheck = field(default_factory=ReadinessCheck)
    selections: Sequence[DueSelection] = ()

    def includes(self, key: UUID) -> bool:
        """Whether somebody waits for this Crawl or Job, or for all there is to do."""
        return self.scope is None or key in self.scope


@dataclass(slots=True)
class Claimed:
    """What one poll took, and when the next is wanted."""

    crawl_runs: list[Lease] = field(default_factory=list)
    selected: list[Lease] = field(default_factory=list)
    """Of the kinds that crawls have no turns in."""
    snapshots: list[Lease] = field(default_factory=list)
    crawls_wait: bool = False
    """Whether there was no room for a crawl that has work to do."""
    more: bool = False
    """Whether it took less than there was room for: the next poll may find what that has made due."""
    next_at: datetime | None = None
    joins_at: datetime | None = None
    """When to look again whether a crawl that is open elsewhere needs this machine, too."""

    def leases(self) -> list[Lease]:
        """Everything, in the order in which it is loaded: what pages need comes before them."""
        return [*self.crawl_runs, *self.selected, *self.snapshots]

    def __bool__(self) -> bool:
        return bool(self.crawl_runs or self.selected or self.snapshots)


def claim_work(who: FetchRequest) -> Claimed:
    """Tick what is due, and lease what this worker can begin."""
    claimed, began = Claimed(), timezone.now()
    tick_crawls()
    if who.scope is None:  # who waits for one crawl has nothing else begun
        start_due()
    now = timezone.now()
    for selection in who.selections:
        claimed.selected += claim(selection.model, selection.due(who, now), who.worker)
    claim_runs(claimed, who, now)
    claim_snapshots(claimed, who)
    claimed.more = bool(claimed) and len(claimed.snapshots) < who.capacity.snapshots
    if not claimed.more:
        moments = (next_wanted(who.machine, began), claimed.joins_at)
        claimed.next_at = min(filter(None, moments), default=None)
    return claimed


def claim_runs(claimed: Claimed, who: FetchRequest, now: datetime) -> None:
    """Add due runs of crawls to what is claimed: first of those that have fresh pages."""
    runs_here = CrawlRun.objects.due(now).filter(machine_id=who.machine)
    due_runs = runs_here.values_list("pk", "crawl_id", "attempts")
    wanted = [row for row in due_runs if who.includes(row[1]) and may_open(row[1], who.machine)]
    runs = _without_suspects([(key, attempts) for key, _, attempts in wanted])
    rooms = {key: _room_for(crawl, who.capacity, now) for key, crawl, _ in wanted if key in runs}
    admitted: list[UUID] = []
    for key, room in sorted(rooms.items(), key=lambda item: -item[1]):
        if len(admitted) < room:
            admitted.append(key)
    claimed.crawl_runs = claim(CrawlRun, admitted, who.worker)
    claimed.crawls_wait = len(runs) > len(admitted)


def _without_suspects(runs: Sequence[tuple[UUID, int]]) -> list[UUID]:
    """Those with which no worker has died; where there are none, one of the others, which then speaks for itself."""
    return [key for key, attempts in runs if not attempts] or [key for key, _ in runs[:1]]


def _room_for(crawl_id: UUID, capacity: Capacity, now: datetime) -> int:
    """How many runs may be taken if this crawl's is the last of them."""
    return capacity.crawls if has_fresh_page_due(crawl_id, now) else capacity.retried_crawls


def claim_snapshots(claimed: Claimed, who: FetchRequest) -> None:
    """Add due Snapshots of open crawls to what is claimed; and the runs of crawls that have none yet.

    First those of dead workers whose hooks still run. A crawl of which no page is at work has one of its pages taken in
    any case: none waits for the pages of others.
    """
    looks, ready_at = 0, _open_runs(who.machine)
    taken = _claim_interrupted(claimed, who, ready_at) if who.capacity.beyond else 0
    room = Allowance(max(who.capacity.snapshots - taken, 0), who.capacity.retries)
    for crawl_id in _crawls_in_turn(who.cursor, who.scope):
        if room.fresh <= 0 and (room.retries <= 0 or looks >= RETRY_SCAN_LIMIT):
            break
        looks += room.fresh <= 0
        if crawl_id not in ready_at:
            _queue_run(crawl_id, claimed, who)
        elif ready_at[crawl_id] is not None:
            who.cursor.crawl = crawl_id if room.fresh > 0 else who.cursor.crawl
            room = _claim_of(crawl_id, claimed, who, room)
    if room.fresh <= 0 and who.capacity.beyond:
        for crawl_id in _idle_crawls(who.machine):
            if who.scope is None or crawl_id in who.scope:
                _claim_of(crawl_id, claimed, who, Allowance(1))


def _claim_interrupted(claimed: Claimed, who: FetchRequest, ready_at: Mapping[UUID, datetime | None]) -> int:
    """Claim the pages of dead workers of which hooks still run, whatever room there is; how many.

    These hooks have the tabs for which the pages that are claimed instead would wait, for ever.
    """
    rows = _interrupted(who.machine, timezone.now())
    keys = {page for page, crawl in rows if ready_at.get(crawl) and (who.scope is None or crawl in who.scope)}
    leased = claim(Snapshot, sorted(keys), who.worker) if keys else []
    claimed.snapshots += leased
    return len(leased)


def _claim_of(crawl_id: UUID, claimed: Claimed, who: FetchRequest, room: Allowance) -> Allowance:
    """Claim pages of a crawl that may begin now; what room they leave."""
    blocked = blocked_hosts()  # asked anew for each crawl: what was claimed of the one before counts
    chosen = who.scope[crawl_id] if who.scope is not None else None
    pages = due_among(chosen, blocked, room) if chosen else due(crawl_id, blocked, room, who.cursor)
    if not pages:
        return room
    with write_transaction():
        if not _is_ready(crawl_id, who.machine):  # its holder was quicker, and ends it
            return room
        lock_names(page.host for page in pages)
        blocked = blocked_hosts()
        pages = [page for page in pages if not page.is_blocked(blocked)]  # others may have been quicker
        leased = claim(Snapshot, [page.key for page in pages], who.worker)
        for lease in leased:
            visited(lease.pk)
    claimed.snapshots += leased
    retries = sum(page.is_retry for page in pages)
    return Allowance(room.fresh - (len(pages) - retries), room.retries - retries)


def claim(model: type[WorkItem], keys: Sequence[UUID], worker: UUID) -> list[Lease]:
    """Take those of ``keys`` that are due and that nobody was quicker to take."""
    fences = model.claim(keys, worker)
    return [Lease(model, key, worker, fences[key]) for key in keys if key in fences]


def renew(leases: list[Lease]) -> set[Lease]:
    """Renew every lease; returns those that were lost."""
    lost: set[Lease] = set()
    with write_transaction():
        for lease in leases:
            rows = lease.model.rows(pk=lease.pk, fence=lease.fence)
            if not rows.renew(lease.owner):
                lost.add(lease)
    return lost


def release(lease: Lease) -> None:
    """Give back one item, due at once; nothing happens where the lease is lost."""
    with write_transaction():
        lease.model.rows(pk=lease.pk, fence=lease.fence).release(lease.owner)


def _crawls_in_turn(cursor: Cursor, scope: Scope | None) -> Iterator[UUID]:
    """The open crawls from the cursor on, then those before it; users take turns with their crawls."""
    by_user: dict[int, list[UUID]] = {}
    for key, user in open_crawls():
        if scope is not None and key not in scope:
            continue
        by_user.setdefault(user, []).append(key)
    longest = max(map(len, by_user.values()), default=0)
    turns = [keys[turn] for turn in range(longest) for keys in by_user.values() if turn < len(keys)]
    start = turns.index(cursor.crawl) + 1 if cursor.crawl in turns else 0
    yield from turns[start:]
    yield from turns[:start]


def _queue_run(crawl_id: UUID, claimed: Claimed, who: FetchRequest) -> None:
    """Queue the run on this machine of a crawl that has none, and claim it, if there is room.

    Of those that find none, one waits in the queue at a time. Nothing is asked of the others meanwhile: there may be
    ten thousand.
    """
    if claimed.crawls_wait and len(claimed.crawl_runs) >= who.capacity.crawls:
        return
    now = timezone.now()
    if not has_page_due(crawl_id, now):
        return
    has_room = len(claimed.crawl_runs) < _room_for(crawl_id, who.capacity, now)
    if claimed.crawls_wait and not has_room:
        return
    if not (may_open(crawl_id, who.machine) and _open_here(crawl_id, claimed, who, has_room=has_room)):
        claimed.joins_at = now + JOIN_AFTER


def _open_here(crawl_id: UUID, claimed: Claimed, who: FetchRequest, *, has_room: bool) -> bool:
    """Queue the run of a crawl here, and claim it if there is room; False where another machine was quicker."""
    with write_transaction():
        lock_names([crawl_id])
        if not may_open(crawl_id, who.machine):
            return False
        fresh = CrawlRun.of(crawl_id, who.machine)
        if fresh.status == CrawlRun.StatusChoices.SEALED:
            fresh.transition("requeue")
        runs = claim(CrawlRun, [fresh.pk], who.worker) if has_room else []
    claimed.crawl_runs += runs
    claimed.crawls_wait = claimed.crawls_wait or not has_room
    return True


def _interrupted(machine: UUID, now: datetime) -> models.QuerySet[Process, Any]:
    """Pages that nobody holds, of open crawls, with hooks that run here; by way of these, which are few."""
    free = Snapshot.objects.free().filter(retry_at__lte=now, crawl__status="started", crawl__request="")
    page = free.filter(pk=models.OuterRef("snapshot_id"))
    hooks = Process.objects.running().of_type(Process.TypeChoices.HOOK).filter(machine_id=machine)
    return hooks.filter(models.Exists(page)).values_list("snapshot_id", "crawl_id")


def _idle_crawls(machine: UUID) -> models.QuerySet[CrawlRun, UUID]:
    """Crawls whose run here is ready, and of which no page is at work."""
    at_work = Snapshot.objects.filter(HELD, crawl_id=models.OuterRef("crawl_id"))
    ready = CrawlRun.objects.filter(HELD, machine_id=machine, ready_at__isnull=False, crawl__status="started")
    return ready.filter(~models.Exists(at_work)).order_by("pk").values_list("crawl_id", flat=True)[:RETRY_SCAN_LIMIT]


def _is_ready(crawl_id: UUID, machine: UUID) -> bool:
    runs = CrawlRun.objects.unsealed().filter(crawl_id=crawl_id, machine_id=machine)
    return bool(runs.filter(ready_at__isnull=False).exists())


def _open_runs(machine: UUID) -> dict[UUID, datetime | None]:
    """By crawl, when its run here was ready for Snapshots; None: not yet."""
    return dict(CrawlRun.objects.unsealed().filter(machine_id=machine).values_list("crawl_id", "ready_at"))
