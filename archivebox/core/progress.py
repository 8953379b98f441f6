"""How far crawls and their pages are: counts, speed, and what each hook is at."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Q
from django.utils import timezone

from archivebox.base_models.work import HELD
from archivebox.contract.reasons import Reason, split
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.lib.egress import read_totals
from archivebox.storage.layout import egress_dir

SPEED_OVER = timedelta(minutes=2)
"""Pages a minute are those of the last so many."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One crawl by the numbers."""

    status: str
    counts: dict[str, int]
    """Pages by status."""
    a_minute: float
    received: int
    """Bytes, as they came over the wire."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def done(self) -> int:
        return self.counts.get("sealed", 0)

    @property
    def running(self) -> int:
        return self.counts.get("started", 0)

    @property
    def waiting(self) -> int:
        return self.counts.get("queued", 0)

    @property
    def is_open(self) -> bool:
        return self.status in Crawl.OPEN

    @property
    def seconds_left(self) -> float | None:
        """At the present speed, if nothing more is found; None while there is no speed to go by."""
        left = self.running + self.waiting
        return 60 * left / self.a_minute if self.is_open and left and self.a_minute else None


def progress_of(crawl: Crawl) -> Progress:
    """Counts all pages of the crawl: 1 s for a million of them."""
    now = timezone.now()
    recent = Count("pk", filter=Q(sealed_at__gt=now - SPEED_OVER))
    by_status = crawl.snapshot_set.kept().order_by().values_list("status")
    rows = list(by_status.annotate(pages=Count("pk"), recent=recent))
    counts = {status: count for status, count, _ in rows}
    period = min(SPEED_OVER, max(now - crawl.created_at, timedelta(seconds=1)))
    a_minute = sum(row[2] for row in rows) * 60 / period.total_seconds()
    return Progress(crawl.status, counts, a_minute, read_totals(egress_dir(crawl.path)).received)


class Pill(NamedTuple):
    """What the hooks of one plugin are at on a page: the most telling of their states."""

    plugin: str
    status: str
    reason: str
    start: datetime | None
    end: datetime | None
    size: int

    def beside(self, other: "Pill") -> "Pill":
        """Both as one."""
        told = min(self, other, key=lambda pill: TELLING.index(pill.status))
        return told._replace(size=max(self.size, other.size))  # one folder for all hooks of a plugin


class PageNow(NamedTuple):
    """A page and what each of its hooks is at."""

    pk: UUID
    crawl_id: UUID
    url: str
    title: str
    status: str
    depth: int
    pills: tuple[Pill, ...] = ()

    @property
    def done(self) -> int:
        return sum(pill.status in FINAL for pill in self.pills)

    @property
    def told(self) -> list[Pill]:
        """Those of which there is something to tell already."""
        return [pill for pill in self.pills if pill.status != "queued"]

    @property
    def waiting(self) -> list[str]:
        return [pill.plugin for pill in self.pills if pill.status == "queued"]

    @property
    def size(self) -> int:
        return sum(pill.size for pill in self.pills)


NEVER_MEANT = frozenset({Reason.DISABLED, Reason.NOT_CHOSEN, Reason.OTHER_ENGINE, Reason.NOT_APPLICABLE})
"""Reasons of hooks that were not to run at all: they say nothing of how far a page is."""
FINAL = ("succeeded", "noresults", "failed", "skipped")
TELLING = ("started", "failed", "backoff", "queued", "succeeded", "noresults", "skipped")
_PAGE = ("pk", "crawl_id", "url", "title", "status", "depth")
_PILL = ("snapshot_id", "plugin", "status", "reason", "start_ts", "end_ts", "output_size")


def pages_at_work(limit: int) -> list[tuple[Any, ...]]:
    """The columns of :class:`PageNow` but the last, of pages that some worker holds; the first to be begun first."""
    return list(Snapshot.objects.filter(HELD).order_by("pk").values_list(*_PAGE)[:limit])


def pages_of(keys: Collection[UUID]) -> list[tuple[Any, ...]]:
    """The same of these pages."""
    return list(Snapshot.objects.filter(pk__in=keys).values_list(*_PAGE))


def with_pills(pages: Iterable[tuple[Any, ...]]) -> list[PageNow]:
    """The pages with what each plugin is at, by one query; those that were never to run are left out."""
    rows = list(pages)
    pills: dict[UUID, dict[str, Pill]] = {row[0]: {} for row in rows}
    results = ArchiveResult.objects.filter(snapshot_id__in=pills).order_by("hook_name", "plugin")
    for page, *columns in results.values_list(*_PILL):
        pill, known = Pill(*columns), pills[page]
        if pill.status != "skipped" or split(pill.reason)[0] not in NEVER_MEANT:
            known[pill.plugin] = pill.beside(known[pill.plugin]) if pill.plugin in known else pill
    return [PageNow(*row)._replace(pills=tuple(pills[row[0]].values())) for row in rows]
