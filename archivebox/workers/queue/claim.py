"""Who gets which work next: crawls in turn, hosts politely, and within a host the longest waiting page.

Every function runs on the database thread. Crawl ticks, CrawlRuns and Binaries come first and never count; Snapshots
are claimed only of crawls whose run on this machine is ready for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.utils import timezone

from archivebox.base_models.prepared import PreparedQuery, Rows
from archivebox.base_models.table import table_of
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.work import LEASE, WorkItem
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import CrawlRun
from archivebox.machine.binary import Binary
from archivebox.workers.queue.due import Cursor, due, due_among, next_wanted, open_crawls, page_due
from archivebox.workers.queue.hosts import blocked_hosts, visited
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.ticks import tick_crawls
from archivebox.workers.queue.watchers import Scope


class Capacity(NamedTuple):
    """How much more a worker takes: Snapshots, and crawls of which it holds a browser or the like."""

    snapshots: int
    crawls: int


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """The worker that looks for work."""

    worker: UUID
    machine: UUID
    capacity: Capacity
    cursor: Cursor
    scope: Scope | None = None


@dataclass(slots=True)
class Claimed:
    """What one look took, and when the next is wanted."""

    crawl_runs: list[Lease] = field(default_factory=list)
    binaries: list[Lease] = field(default_factory=list)
    snapshots: list[Lease] = field(default_factory=list)
    crawls_wait: bool = False
    """Whether there was no room for a crawl that has work to do."""
    next_at: datetime | None = None

    def __bool__(self) -> bool:
        return bool(self.crawl_runs or self.binaries or self.snapshots)


def claim_work(who: FetchRequest) -> Claimed:
    """Tick what is due, and lease what this worker can begin."""
    claimed = Claimed()
    tick_crawls()
    now = timezone.now()
    claimed.binaries = claim(Binary, [key for (key,) in _binaries_due(who.machine, now)], who.worker)
    wanted = [row for row in _runs_due(who.machine, now) if who.scope is None or row[1] in who.scope]
    runs = _without_suspects([(key, attempts) for key, _, attempts in wanted])
    claimed.crawl_runs = claim(CrawlRun, runs[: who.capacity.crawls], who.worker)
    claimed.crawls_wait = len(runs) > who.capacity.crawls
    claim_snapshots(claimed, who)
    if not claimed:
        claimed.next_at = next_wanted(who.machine)
    return claimed


def _without_suspects(runs: Sequence[tuple[UUID, int]]) -> list[UUID]:
    """Those with which no worker has died; where there are none, one of the others, which then speaks for itself."""
    return [key for key, attempts in runs if not attempts] or [key for key, _ in runs[:1]]


def claim_snapshots(claimed: Claimed, who: FetchRequest) -> None:
    """Add due Snapshots of open crawls to what is claimed; and the runs of crawls that have none yet."""
    for crawl_id in _crawls_in_turn(who.cursor, who.scope):
        free = who.capacity.snapshots - len(claimed.snapshots)
        if free <= 0:
            return
        if not _is_open(crawl_id, claimed, who):
            continue
        who.cursor.crawl = crawl_id
        blocked = blocked_hosts()  # asked anew for each crawl: what was claimed of the one before counts
        chosen = who.scope[crawl_id] if who.scope is not None else None
        keys = due_among(chosen, blocked)[:free] if chosen else due(crawl_id, blocked, free, who.cursor)
        if keys:
            with write_transaction():
                leased = claim(Snapshot, keys, who.worker)
                for lease in leased:
                    visited(lease.pk)
            claimed.snapshots += leased


def claim(model: type[WorkItem], keys: Sequence[UUID], worker: UUID) -> list[Lease]:
    """Take those of ``keys`` that nobody was quicker to take: one guarded update for all of them.

    Said in SQL, because Django's update and the look at the fences cost three times the rest of a lease.
    """
    if not keys:
        return []
    table, now = table_of(model), timezone.now()
    statement = _CLAIM.format(table=table.name, keys=", ".join(["%s"] * len(keys)))
    arguments = [
        table.prepared("owner", worker),
        table.prepared("retry_at", now + LEASE),
        *(table.prepared("id", key) for key in keys),
        table.prepared("retry_at", now),
    ]
    with write_transaction(), connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        claimed = dict(cursor.fetchall())
    fences = {key: claimed.get(table.prepared("id", key)) for key in keys}
    return [Lease(model, key, worker, fence) for key, fence in fences.items() if fence is not None]


_CLAIM = (
    "UPDATE {table} SET owner = %s, fence = fence + 1, retry_at = %s"
    " WHERE id IN ({keys}) AND owner IS NULL AND retry_at <= %s RETURNING id, fence"
)


def renew(leases: list[Lease]) -> set[Lease]:
    """Renew every lease; returns those that were lost."""
    lost: set[Lease] = set()
    with write_transaction():
        for lease in leases:
            rows = lease.model.rows(pk=lease.pk, fence=lease.fence)
            if not rows.renew(lease.owner):
                lost.add(lease)
    return lost


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


def _is_open(crawl_id: UUID, claimed: Claimed, who: FetchRequest) -> bool:
    """Whether the crawl's run on this machine is ready for Snapshots; when nobody has queued it, it is queued.

    And claimed, if there is room. Of those that find none, one waits in the queue at a time: the others follow.
    """
    for ready_at, status in _run_of(crawl_id, who.machine):
        if ready_at is not None or status != CrawlRun.StatusChoices.SEALED:
            return ready_at is not None
    has_room = len(claimed.crawl_runs) < who.capacity.crawls
    if (claimed.crawls_wait and not has_room) or not page_due(crawl_id, timezone.now()):
        return False
    with write_transaction():
        fresh = CrawlRun.of(crawl_id, who.machine)
        if fresh.status == CrawlRun.StatusChoices.SEALED:
            fresh.transition("requeue")
    if has_room:
        claimed.crawl_runs += claim(CrawlRun, [fresh.pk], who.worker)
    else:
        claimed.crawls_wait = True
    return False


@PreparedQuery
def _runs_due(machine: UUID, now: datetime) -> Rows:
    return CrawlRun.objects.due(now).filter(machine_id=machine).values_list("pk", "crawl_id", "attempts")


@PreparedQuery
def _binaries_due(machine: UUID, now: datetime) -> Rows:
    return Binary.objects.due(now).filter(machine_id=machine).values_list("pk")[:16]


@PreparedQuery
def _run_of(crawl: UUID, machine: UUID) -> Rows:
    return CrawlRun.objects.filter(crawl_id=crawl, machine_id=machine).values_list("ready_at", "status")
