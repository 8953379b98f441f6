"""Who gets which work next: crawls in turn, hosts politely, and within a host the longest waiting page.

Every function runs on the database thread. Crawl ticks, CrawlRuns and Binaries come first and never count; Snapshots
are taken only of crawls whose run on this machine is ready for them.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection, models
from django.utils import timezone

from archivebox.base_models.doorbell import ring
from archivebox.base_models.prepared import PreparedQuery, Rows, prepared
from archivebox.base_models.table import table_of
from archivebox.base_models.turn import turn
from archivebox.base_models.work import HELD, LEASE, WorkItem
from archivebox.contract.reasons import Reason
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl, CrawlRun, Domain
from archivebox.machine.binary import Binary
from archivebox.workers.hosts import blocked_hosts, visited
from archivebox.workers.journal import Holder
from archivebox.workers.watchers import Scope

HOSTS = 32
"""Hosts of a crawl that one scan goes through; the next begins behind them."""
LOOK_AT_HELD = timedelta(seconds=1)
"""How soon a cancelled crawl looks again at Snapshots that are still their holders'."""


@dataclass(slots=True)
class Cursor:
    """Where the rounds over crawls, and over the hosts of each, go on."""

    crawl: UUID | None = None
    host: dict[UUID, str] = field(default_factory=dict)


class Room(NamedTuple):
    """How much more a worker takes: Snapshots, and crawls of which it holds a browser or the like."""

    snapshots: int
    crawls: int


@dataclass(frozen=True, slots=True)
class Looker:
    """The worker that looks for work."""

    worker: UUID
    machine: UUID
    room: Room
    cursor: Cursor
    scope: Scope | None = None


@dataclass(slots=True)
class Taken:
    """What one look took, and when the next is wanted."""

    crawl_runs: list[Holder] = field(default_factory=list)
    binaries: list[Holder] = field(default_factory=list)
    snapshots: list[Holder] = field(default_factory=list)
    crawls_wait: bool = False
    """Whether there was no room for a crawl that has work to do."""
    next_at: datetime | None = None

    def __bool__(self) -> bool:
        return bool(self.crawl_runs or self.binaries or self.snapshots)


def take(who: Looker) -> Taken:
    """Tick what is due, and lease what this worker can begin."""
    taken = Taken()
    tick_crawls()
    now = timezone.now()
    taken.binaries = lease(Binary, [key for (key,) in _binaries_due(who.machine, now)], who.worker)
    runs = [key for key, crawl in _runs_due(who.machine, now) if who.scope is None or crawl in who.scope]
    taken.crawl_runs = lease(CrawlRun, runs[: who.room.crawls], who.worker)
    taken.crawls_wait = len(runs) > who.room.crawls
    take_snapshots(taken, who)
    if not taken:
        taken.next_at = next_wanted(who.machine)
    return taken


def take_snapshots(taken: Taken, who: Looker) -> None:
    """Add due Snapshots of open crawls to what is taken; and the runs of crawls that have none yet."""
    for crawl_id in _crawls_in_turn(who.cursor, who.scope):
        free = who.room.snapshots - len(taken.snapshots)
        if free <= 0:
            return
        if not _is_open(crawl_id, taken, who):
            continue
        who.cursor.crawl = crawl_id
        blocked = blocked_hosts()  # asked anew for each crawl: what was taken of the one before counts
        chosen = who.scope[crawl_id] if who.scope is not None else None
        keys = _due_among(chosen, blocked)[:free] if chosen else due(crawl_id, blocked, free, who.cursor)
        if keys:
            with turn():
                leased = lease(Snapshot, keys, who.worker)
                for holder in leased:
                    visited(holder.pk)
            taken.snapshots += leased


# --- leases -----------------------------------------------------------------------------------------------------


def lease(model: type[WorkItem], keys: Sequence[UUID], worker: UUID) -> list[Holder]:
    """Take those of ``keys`` that nobody was quicker to take: one guarded update for all of them.

    Said in SQL, because Django's update and the look at the fences cost three times the rest of a lease.
    """
    if not keys:
        return []
    table, now = table_of(model), timezone.now()
    statement = _LEASE.format(table=table.name, keys=", ".join(["%s"] * len(keys)))
    arguments = [
        table.prepared("owner", worker),
        table.prepared("retry_at", now + LEASE),
        *(table.prepared("id", key) for key in keys),
        table.prepared("retry_at", now),
    ]
    with turn(), connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        taken = dict(cursor.fetchall())
    fences = {key: taken.get(table.prepared("id", key)) for key in keys}
    return [Holder(model, key, worker, fence) for key, fence in fences.items() if fence is not None]


_LEASE = (
    "UPDATE {table} SET owner = %s, fence = fence + 1, retry_at = %s"
    " WHERE id IN ({keys}) AND owner IS NULL AND retry_at <= %s RETURNING id, fence"
)


def renew(holders: list[Holder]) -> set[Holder]:
    """Renew every lease; returns those that were lost."""
    lost: set[Holder] = set()
    with turn():
        for holder in holders:
            rows = holder.model.rows(pk=holder.pk, fence=holder.fence)
            if not rows.renew(holder.owner):
                lost.add(holder)
    return lost


# --- crawls -----------------------------------------------------------------------------------------------------


def tick_crawls() -> None:
    """Start, check, seal and reopen the Crawls that want a look, those that have waited longest first."""
    now = timezone.now()
    for (key,) in _crawls_due(now):
        with turn():
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
        ring()
    if crawl.status == Crawl.StatusChoices.STARTED and not crawl.has_pending_children():
        if wanted is not None and wanted <= timezone.now():
            crawl.look_at(None)
            return
        crawl.transition("seal", retry_at=wanted)
        ring()
    elif crawl.status in {Crawl.StatusChoices.STARTED, Crawl.StatusChoices.PAUSED}:
        crawl.look_at(None)


def _cancel_snapshots(crawl: Crawl) -> None:
    """The queued Snapshots of a cancelled Crawl follow it, a thousand a look; leased ones are their holders'."""
    free = crawl.snapshot_set.unsealed().filter(owner__isnull=True)
    keys = list(free.values_list("pk", flat=True)[:1000])
    rows = Snapshot.objects.filter(pk__in=keys, owner__isnull=True)
    rows.update(status="cancelled", reason=Reason.CANCELLED, retry_at=None, modified_at=timezone.now())
    more, held = len(keys) == 1000, crawl.snapshot_set.filter(HELD).exists()
    # A leased one may come back by its worker's death: look again, but not in a circle.
    again = timezone.now() if more else timezone.now() + LOOK_AT_HELD if held else None
    crawl.look_at(again)
    if more:
        ring()


def _crawls_in_turn(cursor: Cursor, scope: Scope | None) -> Iterator[UUID]:
    """The open crawls from the cursor on, then those before it; users take turns with their crawls."""
    by_user: dict[int, list[UUID]] = {}
    for key, user in _open_crawls():
        if scope is not None and key not in scope:
            continue
        by_user.setdefault(user, []).append(key)
    longest = max(map(len, by_user.values()), default=0)
    turns = [keys[turn] for turn in range(longest) for keys in by_user.values() if turn < len(keys)]
    start = turns.index(cursor.crawl) + 1 if cursor.crawl in turns else 0
    yield from turns[start:]
    yield from turns[:start]


def _is_open(crawl_id: UUID, taken: Taken, who: Looker) -> bool:
    """Whether the crawl's run on this machine is ready for Snapshots; when nobody has queued it, it is queued.

    And taken, if there is room. Of those that find none, one waits in the queue at a time: the others follow.
    """
    for ready_at, status in _run_of(crawl_id, who.machine):
        if ready_at is not None or status != CrawlRun.StatusChoices.SEALED:
            return ready_at is not None
    has_room = len(taken.crawl_runs) < who.room.crawls
    if (taken.crawls_wait and not has_room) or not _page_due(crawl_id, timezone.now()):
        return False
    with turn():
        fresh = CrawlRun.of(crawl_id, who.machine)
        if fresh.status == CrawlRun.StatusChoices.SEALED:
            fresh.transition("requeue")
    if has_room:
        taken.crawl_runs += lease(CrawlRun, [fresh.pk], who.worker)
    else:
        taken.crawls_wait = True
    return False


# --- pages ------------------------------------------------------------------------------------------------------


def due(crawl_id: UUID, blocked: set[str], limit: int, cursor: Cursor) -> list[UUID]:
    """The longest waiting due page of each host of a crawl, less the blocked hosts: skip scan of a partial index.

    899,000 rows of one blocked host: 0.07 ms so, 330 ms by (crawl, retry_at). It looks at as many hosts as are wanted
    first, and at more only when those have nothing that is due.
    """
    start = cursor.host.get(crawl_id, "")
    found, last = _due_after(crawl_id, start, blocked, limit, limit)
    while not found and last:  # hosts whose pages all wait for a later time must not hide those behind them
        found, last = _due_after(crawl_id, last, blocked, limit, HOSTS)
    last = "" if start and not found else None
    while not found and last is not None and last <= start:
        found, last = _due_after(crawl_id, last, blocked, limit, HOSTS)
    if found:
        cursor.host[crawl_id] = found[-1][1]
    return [key for key, _ in found]


def _due_among(chosen: Collection[UUID], blocked: set[str]) -> list[UUID]:
    """Those of a few Snapshots that are due."""
    now = timezone.now()
    return [key for key in chosen for (host,) in _host_if_due(key, now) if host not in blocked]


def _due_after(
    crawl_id: UUID, after: str, blocked: set[str], limit: int, look: int
) -> tuple[list[tuple[UUID, str]], str | None]:
    """Due pages of the next ``look`` hosts behind ``after`` that are not blocked, one each; at most ``limit``.

    And the last host looked at, None when there are no more.
    """
    key, now, most = prepared(crawl_id), prepared(timezone.now()), look + len(blocked)
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [key, after, key, now, key, most, key, now])
        hosts = cursor.fetchall()
    to_uuid = Snapshot._meta.pk.to_python
    due_now = [(to_uuid(pk), host) for pk, host in hosts if pk is not None and host not in blocked]
    return due_now[:limit], hosts[-1][1] if len(hosts) == most else None


_FREE = "owner IS NULL AND retry_at IS NOT NULL"
_DUE = f"""
WITH RECURSIVE hosts(domain, n) AS (
    SELECT (SELECT domain FROM core_snapshot WHERE crawl_id = %s AND {_FREE} AND domain > %s
            ORDER BY domain LIMIT 1), 1
    WHERE (SELECT retry_at FROM core_snapshot WHERE crawl_id = %s AND {_FREE} ORDER BY retry_at LIMIT 1) <= %s
    UNION ALL
    SELECT (SELECT domain FROM core_snapshot WHERE crawl_id = %s AND {_FREE} AND domain > hosts.domain
            ORDER BY domain LIMIT 1), n + 1
    FROM hosts WHERE hosts.domain IS NOT NULL AND n < %s
)
SELECT (SELECT id FROM core_snapshot WHERE crawl_id = %s AND domain = hosts.domain AND {_FREE} AND retry_at <= %s
        ORDER BY retry_at LIMIT 1), hosts.domain
FROM hosts WHERE hosts.domain IS NOT NULL
"""  # noqa: S608 - nothing but our own constant is put in


def next_wanted(machine: UUID) -> datetime | None:
    """When something free will want attention next: what an idle worker's timer waits for."""
    now = timezone.now()
    moments = [*_next_crawl(), *_next_run(machine), *_next_binary(machine), *_next_host(now)]
    for key, _ in _open_crawls():
        moments += _next_page(key, now)
    return min((moment for (moment,) in moments), default=None)


# --- asked at every look ----------------------------------------------------------------------------------------


@PreparedQuery
def _crawls_due(now: datetime) -> Rows:
    """So many at a look: each may have a thousand Snapshots to cancel, and others wait to write meanwhile."""
    return Crawl.objects.due(now).values_list("pk")[:16]


@PreparedQuery
def _crawl_locked(crawl: UUID, now: datetime) -> models.QuerySet[Crawl]:
    rows = Crawl.objects.due(now).filter(pk=crawl)
    return rows.select_for_update() if connection.features.has_select_for_update else rows


@PreparedQuery
def _runs_due(machine: UUID, now: datetime) -> Rows:
    return CrawlRun.objects.due(now).filter(machine_id=machine).values_list("pk", "crawl_id")


@PreparedQuery
def _binaries_due(machine: UUID, now: datetime) -> Rows:
    return Binary.objects.due(now).filter(machine_id=machine).values_list("pk")[:16]


@PreparedQuery
def _page_due(crawl: UUID, now: datetime) -> Rows:
    return Snapshot.objects.free().filter(crawl_id=crawl, retry_at__lte=now).values_list("pk")[:1]


@PreparedQuery
def _host_if_due(snapshot: UUID, now: datetime) -> Rows:
    return Snapshot.objects.free().filter(pk=snapshot, retry_at__lte=now).values_list("domain")


@PreparedQuery
def _open_crawls() -> Rows:
    return Crawl.objects.open().filter(status="started", request="").order_by("pk").values_list("pk", "created_by_id")


@PreparedQuery
def _run_of(crawl: UUID, machine: UUID) -> Rows:
    return CrawlRun.objects.filter(crawl_id=crawl, machine_id=machine).values_list("ready_at", "status")


@PreparedQuery
def _next_crawl() -> Rows:
    return _first(Crawl.objects.free())


@PreparedQuery
def _next_run(machine: UUID) -> Rows:
    return _first(CrawlRun.objects.free().filter(machine_id=machine))


@PreparedQuery
def _next_binary(machine: UUID) -> Rows:
    return _first(Binary.objects.free().filter(machine_id=machine))


@PreparedQuery
def _next_page(crawl: UUID, now: datetime) -> Rows:
    return _first(Snapshot.objects.free().filter(crawl_id=crawl, retry_at__gt=now))


@PreparedQuery
def _next_host(now: datetime) -> Rows:
    return _first(Domain.objects.filter(next_at__gt=now), "next_at")


def _first(rows: Rows, moment: str = "retry_at") -> Rows:
    return rows.order_by(moment).values_list(moment)[:1]
