"""Which free pages of a crawl are due, host by host, and when the next free item will be."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, models
from django.utils import timezone

from archivebox.base_models.work import work_models
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl, CrawlRun, Domain
from archivebox.crawls.schedule import CrawlSchedule
from archivebox.machine.host import Machine
from archivebox.workers.queue.hosts import BlockedHosts

SEALED = Snapshot.StatusChoices.SEALED.value
RETRIES_IN_FRONT = 16
"""Pages of a host, waiting for another try, among which a fresh one is looked for."""
HOSTS = 32
"""Hosts of a crawl that one scan goes through; the next begins behind them."""


@dataclass(slots=True)
class Cursor:
    """Where the rounds over crawls, and over the hosts of each, go on."""

    crawl: UUID | None = None
    host: dict[UUID, str] = field(default_factory=dict)


class Allowance(NamedTuple):
    """How many pages are looked for: fresh ones, and such as are tried again."""

    fresh: int
    retries: int = 0


class Due(NamedTuple):
    """A page that may begin."""

    key: UUID
    host: str
    is_retry: bool

    def is_blocked(self, blocked: BlockedHosts) -> bool:
        return self.host in (blocked.for_retries if self.is_retry else blocked.for_fresh)


def due(
    crawl_id: UUID, blocked: BlockedHosts, room: Allowance, cursor: Cursor, now: datetime | None = None
) -> list[Due]:
    """A due page of each host of a crawl, less the blocked hosts: skip scan of a partial index.

    Of a host the one that has waited longest, and fresh ones before those that are tried again. 899,000 rows of one
    blocked host: 0.07 ms so, 330 ms by (crawl, retry_at). It looks at as many hosts as are wanted first, and at more
    only when those have nothing that is due.
    """
    start, now = cursor.host.get(crawl_id, ""), now or timezone.now()
    found, last = _due_after(crawl_id, start, now, blocked, room, look=sum(room))
    while not found and last:  # hosts whose pages all wait for a later time must not hide those behind them
        found, last = _due_after(crawl_id, last, now, blocked, room, look=HOSTS)
    last = "" if start and not found else None
    while not found and last is not None and last <= start:
        found, last = _due_after(crawl_id, last, now, blocked, room, look=HOSTS)
    if found:
        cursor.host[crawl_id] = found[-1].host
    return found


def due_among(chosen: Collection[UUID], blocked: BlockedHosts, room: Allowance) -> list[Due]:
    """Of a few Snapshots that are due, one of each host, as many as there is room for."""
    now = timezone.now()
    found = [Due(key, host, status == SEALED) for key in chosen for host, status in _host_if_due(key, now)]
    return _fitting({page.host: page for page in _allowed(found, blocked)}.values(), room)


def _fitting(pages: Iterable[Due], room: Allowance) -> list[Due]:
    """The first of them that there is room for."""
    found: list[Due] = []
    left = {False: room.fresh, True: room.retries}
    for page in pages:
        if left[page.is_retry] > 0:
            left[page.is_retry] -= 1
            found.append(page)
    return found


def _due_after(
    crawl_id: UUID, after: str, now: datetime, blocked: BlockedHosts, room: Allowance, *, look: int
) -> tuple[list[Due], str | None]:
    """Due pages of the next ``look`` hosts behind ``after`` that are not blocked, one each, as there is room.

    And the last host looked at, None when there are no more.
    """
    key = Snapshot._meta.pk.get_db_prep_value(crawl_id, connection)
    moment = connection.ops.adapt_datetimefield_value(now)
    most = look + len(blocked.for_retries)
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [key, after, key, moment, key, most, key, moment])
        hosts = cursor.fetchall()
    to_uuid = Snapshot._meta.pk.to_python
    due_now = (Due(to_uuid(pk), host, bool(retry)) for host, pk, retry in hosts if pk is not None)
    wanted = (page for page in due_now if page.host not in blocked.for_fresh)
    first = (page for one in wanted for page in (_first_of(crawl_id, one.host, now) if one.is_retry else [one]))
    found = _fitting(_allowed(first, blocked), room)
    return found, hosts[-1][0] if len(hosts) == most else None


def _allowed(pages: Iterable[Due], blocked: BlockedHosts) -> Iterable[Due]:
    return (page for page in pages if not page.is_blocked(blocked))


def fresh_pages_due(crawl_id: UUID, host: str, now: datetime) -> int:
    """How many pages of a host are due that never ran; a few suffice."""
    return sum(status != SEALED for _, status in _longest_waiting(crawl_id, host, now))


def _first_of(crawl_id: UUID, host: str, now: datetime) -> list[Due]:
    """The page of a host that comes first, if one is due: a fresh one before those that are tried again."""
    waiting = [Due(key, host, status == SEALED) for key, status in _longest_waiting(crawl_id, host, now)]
    return sorted(waiting, key=lambda page: page.is_retry)[:1]


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
), first(domain, id) AS (
    SELECT hosts.domain, (SELECT id FROM core_snapshot WHERE crawl_id = %s AND domain = hosts.domain AND {_FREE}
                          AND retry_at <= %s ORDER BY retry_at LIMIT 1)
    FROM hosts WHERE hosts.domain IS NOT NULL
)
SELECT domain, id, (SELECT status = '{SEALED}' FROM core_snapshot page WHERE page.id = first.id) FROM first
ORDER BY domain
"""  # noqa: S608 - nothing but our own constants is put in


def next_wanted(machine: UUID, since: datetime) -> datetime | None:
    """When something free will want attention next: what an idle worker's timer waits for.

    ``since``: when it began to look. What was due by then and waits, waits for room, of which its worker is told.
    """
    return min((moment for row in _next_moments(machine, since) for moment in row if moment is not None), default=None)


def has_page_due(crawl_id: UUID, now: datetime) -> bool:
    return bool(Snapshot.objects.free().filter(crawl_id=crawl_id, retry_at__lte=now).exists())


def has_fresh_page_due(crawl_id: UUID, now: datetime) -> bool:
    """Whether one is due that was not sealed yet: these come first, before what waits for another try."""
    fresh = Snapshot.objects.free().filter(crawl_id=crawl_id, retry_at__lte=now, status__in=Snapshot.OPEN)
    return bool(fresh.order_by("retry_at").values_list("pk")[:1])


def _longest_waiting(crawl_id: UUID, host: str, now: datetime) -> models.QuerySet[Snapshot, Any]:
    waiting = Snapshot.objects.due(now).filter(crawl_id=crawl_id, domain=host)
    return waiting.values_list("pk", "status")[:RETRIES_IN_FRONT]


def _host_if_due(snapshot_id: UUID, now: datetime) -> models.QuerySet[Snapshot, Any]:
    return Snapshot.objects.free().filter(pk=snapshot_id, retry_at__lte=now).values_list("domain", "status")


def open_crawls() -> models.QuerySet[Crawl, Any]:
    return _open().order_by("pk").values_list("pk", "created_by_id")


def _next_moments(machine: UUID, since: datetime) -> models.QuerySet[Machine, Any]:
    """Of each kind of work the first moment, in one question."""
    crawl_runs = CrawlRun.objects.free().filter(machine_id=machine, retry_at__gt=since)
    pages_of_crawl = Snapshot.objects.free().filter(crawl_id=models.OuterRef("pk"), retry_at__gt=since)
    pages = _open().annotate(first=models.Subquery(_first(pages_of_crawl)))  # by the index of each: few are open
    first_page = pages.order_by(models.F("first").asc(nulls_last=True)).values_list("first")[:1]
    firsts = [
        _first(Crawl.objects.free()),
        _first(crawl_runs),
        _first(Domain.objects.filter(next_at__gt=since), "next_at"),
        _first(CrawlSchedule.objects.filter(next_at__gt=since), "next_at"),
        first_page,
    ]
    firsts += [_first(rows) for model in work_models() if (rows := model.next_due(machine, since)) is not None]
    return Machine.objects.filter(pk=machine).values_list(*(models.Subquery(first) for first in firsts))


def _open() -> models.QuerySet[Crawl]:
    return Crawl.objects.open().filter(status="started", request="")


def _first(rows: "models.QuerySet[Any, Any]", moment: str = "retry_at") -> "models.QuerySet[Any, Any]":
    return rows.order_by(moment).values_list(moment)[:1]
