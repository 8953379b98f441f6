"""How far crawls and their pages are: counts, speed, and what each hook is at."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from archivebox.base_models.counting import CountOf
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.base_models.work import HELD
from archivebox.contract.failures import NOT_THE_PAGE
from archivebox.contract.outcomes import FINAL_STATUSES
from archivebox.contract.presentation import CONTENT
from archivebox.contract.reasons import Reason, split
from archivebox.contract.verdicts import State
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.progress.page_states import states_of
from archivebox.core.snapshot import Snapshot
from archivebox.core.unchanged_check import UnchangedCheck
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import plugins
from archivebox.lib.batches import batches
from archivebox.lib.egress import sum_totals
from archivebox.storage.layout import egress_dirs

SPEED_OVER = timedelta(minutes=2)
"""Pages a minute are those of the last so many."""
COUNTED = 10_000
"""Pages of one state that are counted, which takes 1 ms; of more it is only said that there are more."""
STOPPED = "stopped"
"""Pages that were cancelled once they had begun: what they had by then is kept."""
COUNTED_IN_LISTS = 1_000
"""The same where there are many crawls."""


@dataclass(frozen=True, slots=True)
class CrawlProgress:
    """One crawl by the numbers."""

    status: str
    counts: dict[str, int]
    """Pages by status, or ``STOPPED``; more than COUNTED: there are more than that."""
    a_minute: float
    received: int
    """Bytes, as they came over the wire."""
    newest: UUID | None
    """The page that was found last."""
    unchanged: int = 0
    """Pages that say what their last versions say, of which no new one was kept."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def done(self) -> int:
        return self.counts.get("sealed", 0) + self.counts.get(STOPPED, 0)

    @property
    def wanted(self) -> int:
        """Pages that are fetched, or will be: without those that were excluded, or left when it was stopped."""
        return self.total - self.counts.get("cancelled", 0)

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
    def is_exact(self) -> bool:
        """Whether all of its pages were counted."""
        return all(count <= COUNTED for count in self.counts.values())

    @property
    def seconds_left(self) -> float | None:
        """At the present speed, if nothing more is found; None where it cannot be known."""
        left = self.running + self.waiting
        is_known = self.is_open and self.is_exact and left and self.a_minute
        return 60 * left / self.a_minute if is_known else None


def progress_of(crawl: Crawl, scope: ViewerScope) -> CrawlProgress:
    """Counts the pages of the crawl that are seen, as far as that is cheap."""
    now = timezone.now()
    kept = seen_by(scope, crawl.snapshot_set.kept())
    recent = seen_by(scope, crawl.snapshot_set.filter(sealed_at__gt=now - SPEED_OVER))
    period = min(SPEED_OVER, max(now - crawl.created_at, timedelta(seconds=1)))
    a_minute = _counted(recent) * 60 / period.total_seconds()
    newest = kept.order_by("-pk").values_list("pk", flat=True).first()
    received = sum_totals(egress_dirs(crawl.path)).received
    unchanged = _counted(UnchangedCheck.objects.filter(crawl=crawl))
    return CrawlProgress(crawl.status, counts_of(crawl, scope), a_minute, received, newest, unchanged)


def counts_of(crawl: Crawl, scope: ViewerScope) -> dict[str, int]:
    """The pages of the crawl that are seen, by status or as stopped; more than COUNTED: there are more than that."""
    kept = seen_by(scope, crawl.snapshot_set.kept())
    counts = {status: _counted(kept.filter(status=status)) for status in Snapshot.StatusChoices.values}
    if dropped := counts["cancelled"]:  # those that had begun are the first of them
        begun = kept.filter(status="cancelled").order_by("pk").values_list("fence", flat=True)[:COUNTED]
        counts[STOPPED] = sum(map(bool, begun))
        counts["cancelled"] -= counts[STOPPED] if dropped <= COUNTED else 0
    return {status: count for status, count in counts.items() if count}


def _counted(pages: "QuerySet[Any, Any]") -> int:
    return pages.order_by().values("pk")[: COUNTED + 1].count()


class Size(NamedTuple):
    """The pages of a crawl that are or will be fetched, and those that are done; more than COUNTED_IN_LISTS: more."""

    pages: int
    done: int


def sizes_of(crawls: Sequence[Crawl], scope: ViewerScope) -> list[Size]:
    """The size of each crawl of a list as far as it is seen, by one query."""
    kept = seen_by(scope, Snapshot.objects.in_library())
    pages = kept.filter(crawl=OuterRef("pk")).order_by().values("pk")
    first, done = (
        pages[: COUNTED_IN_LISTS + 1],
        pages.filter(status__in=["sealed", "cancelled"])[: COUNTED_IN_LISTS + 1],
    )
    rows = Crawl.objects.filter(pk__in=[crawl.pk for crawl in crawls]).order_by()
    found = rows.annotate(pages=CountOf(first), done=CountOf(done)).values_list("pk", "pages", "done")
    sizes = {key: Size(*numbers) for key, *numbers in found}
    return [sizes.get(crawl.pk, Size(0, 0)) for crawl in crawls]


class PluginState(NamedTuple):
    """What the hooks of one plugin are at on a page: the most telling of their states."""

    plugin: str
    status: str
    reason: str
    start: datetime | None
    end: datetime | None
    size: int

    def beside(self, other: "PluginState") -> "PluginState":
        """Both as one."""
        told = min(self, other, key=lambda state: TELLING.index(state.status))
        return told._replace(size=max(self.size, other.size))  # one folder for all hooks of a plugin


class PageNow(NamedTuple):
    """A page and what each of its hooks is at."""

    pk: UUID
    crawl_id: UUID
    url: str
    title: str
    status: str
    depth: int
    visibility: str
    owner: int
    """Key of the account whose it is."""
    http_status: int
    plugin_states: tuple[PluginState, ...] = ()
    verdict: str = ""
    """What it came to, once it is over."""

    @property
    def done(self) -> int:
        return sum(state.status in FINAL_STATUSES for state in self.plugin_states)

    @property
    def told(self) -> list[PluginState]:
        """Those to be told one by one: while it is at work what has begun, then what failed."""
        return [state for state in self.plugin_states if state.status not in self._counted]

    @property
    def folded(self) -> list[tuple[str, list[str]]]:
        """The others: their states, each with the plugins in it."""
        plugins = {
            status: [state.plugin for state in self.plugin_states if state.status == status] for status in self._counted
        }
        return [(status, names) for status, names in plugins.items() if names]

    @property
    def _counted(self) -> tuple[str, ...]:
        return ("succeeded", "noresults", "queued", "skipped") if self.status == "sealed" else ("queued", "skipped")

    @property
    def size(self) -> int:
        return sum(state.size for state in self.plugin_states)


NEVER_MEANT = frozenset(
    {Reason.DISABLED, Reason.NOT_CHOSEN, Reason.OTHER_ENGINE, Reason.NOT_APPLICABLE, Reason.PRIVATE_PAGE}
)
"""Reasons of hooks that were not to run at all: they say nothing of how far a page is."""
TELLING = ("started", "failed", "backoff", "queued", "succeeded", "noresults", "skipped")
READ = 500
"""Pages whose results are in memory at a time."""
_PAGE = ("pk", "crawl_id", "url", "title", "status", "depth", "visibility", "created_by_id", "http_status")
_PLUGIN_STATE = ("snapshot_id", "plugin", "status", "reason", "start_ts", "end_ts", "output_size")


def pages_at_work(limit: int) -> list[tuple[Any, ...]]:
    """The columns of :class:`PageNow` that are its row's, of pages that some worker holds, the first begun first."""
    return list(Snapshot.objects.filter(HELD).order_by("pk").values_list(*_PAGE)[:limit])


def pages_of(keys: Collection[UUID]) -> list[tuple[Any, ...]]:
    """The same of these pages."""
    return list(Snapshot.objects.filter(pk__in=keys).values_list(*_PAGE))


def with_plugin_states(pages: Iterable[tuple[Any, ...]]) -> list[PageNow]:
    """The pages with what each plugin is at, by one query, and by another what those came to that are over.

    Plugins that were never to run are left out.
    """
    found = [PageNow(*row) for row in pages]
    states: dict[UUID, dict[str, PluginState]] = {page.pk: {} for page in found}
    results = ArchiveResult.objects.filter(snapshot_id__in=states).order_by("hook_name", "plugin")
    for key, *columns in results.values_list(*_PLUGIN_STATE):
        state, known = PluginState(*columns), states[key]
        if state.status != "skipped" or split(state.reason)[0] not in NEVER_MEANT:
            known[state.plugin] = state.beside(known[state.plugin]) if state.plugin in known else state
    verdicts = states_of([page for page in found if page.status in {"sealed", "cancelled"}])
    return [
        page._replace(plugin_states=tuple(states[page.pk].values()), verdict=verdicts.get(page.pk, ""))
        for page in found
    ]


def nothing_kept(sealed: "QuerySet[Snapshot, Any]") -> int:
    """How many of these sealed pages came to nothing, or to something else than the page.

    Results are read only of pages of which no plugin kept what is of a page, which are few. A plugin of somebody's own
    that declares no outputs is believed to have; and who asked for a title alone, and got it, has all there was to get.
    """
    results = ArchiveResult.objects.filter(snapshot=OuterRef("pk"))
    succeeded, failed = results.filter(status="succeeded"), results.filter(status="failed")
    of_content = Q(plugin__in=[name for name, plugin in plugins().items() if plugin.may_keep(CONTENT)])
    has_all = Exists(succeeded) & ~Exists(failed) & ~Exists(results.filter(of_content))
    refused = Exists(results.filter(status__in=["failed", "backoff"], reason__in=sorted(NOT_THE_PAGE)))
    rows = sealed.filter(refused | (~Exists(succeeded.filter(of_content)) & ~has_all))
    doubtful = (PageNow(*row) for row in rows.values_list(*_PAGE))
    states = Counter(state for part in batches(doubtful, READ) for state in states_of(part).values())
    return states[State.NOTHING] + states[State.REFUSED]
