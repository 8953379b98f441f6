"""Owns the look at the database for all viewers, and what it makes of it: parts of pages that have changed."""

import time
from collections.abc import Collection, Iterator
from datetime import timedelta
from uuid import UUID

from django.template.loader import render_to_string
from django.utils import timezone

from archivebox.base_models.visibility import ViewerScope
from archivebox.core.progress.crawl_progress import (
    CrawlProgress,
    PageNow,
    pages_at_work,
    pages_of,
    progress_of,
    with_plugin_states,
)
from archivebox.crawls.crawl import Crawl
from archivebox.search.query.times import floor_of
from archivebox.web.live.hub import PageFragment, Topic, crawls_in, scope_in, topic_of

CRAWLS_SHOWN = 20
"""Open crawls in the drawer."""
AT_WORK = 64
"""Pages at work that are followed."""
LATE = timedelta(seconds=2)
"""How long after a crawl's key was made its row may come to be seen."""
LIBRARY = "library"
"""What changes with the number of pages."""
COUNT_REST = 50
"""How many times as long as counting a crawl's pages took, the count is not taken again: it may be 10 ms."""


class CachedCounts:
    """The numbers of one crawl for who sees so far, and when they may be taken again."""

    def __init__(self, crawl: Crawl, scope: ViewerScope) -> None:
        began = time.thread_time()  # not by the clock: who counts on a busy machine mostly waits
        self.progress = progress_of(crawl, scope)
        self.good_until = time.monotonic() + COUNT_REST * (time.thread_time() - began)

    def is_good_for(self, crawl: Crawl) -> bool:
        return crawl.status == self.progress.status and time.monotonic() < self.good_until


class ChangeWatch:
    """What was seen at the last look, so that the next one tells what is new. Used on one thread.

    It looks once for all, and tells each of those who see differently far what is there for them.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._told: dict[tuple[Topic, str], object] = {}
        self._pages: dict[UUID, PageNow] = {}
        self._rows: dict[UUID, str] = {}
        self._counted: dict[tuple[UUID, ViewerScope], CachedCounts] = {}
        self._titles: dict[UUID, str] = {}
        self._looked = timezone.now()

    def look(self, topics: Collection[Topic]) -> list[PageFragment]:
        """The parts of these topics that are not as they were; blocks."""
        scopes, watched = {scope_in(topic) for topic in topics}, crawls_in(topics)
        crawls = self._crawls(watched, scopes)
        pages = self._pages_now(watched)
        parts = [*self._of_pages(pages, scopes)]
        for scope in scopes:
            seen = [crawl for crawl in crawls if scope.sees(crawl.visibility, crawl.created_by_id)]
            parts += [*self._of_crawls(seen, watched, pages, scope), *self._top(seen, scope)]
        return parts

    # --- reading ----------------------------------------------------------------------------------------------

    def _crawls(self, watched: Collection[UUID], scopes: Collection[ViewerScope]) -> list[Crawl]:
        """Those that are open, those that are looked at, and new ones, which may have been done between two looks.

        What was asked for, up to 64 KB of each, is read once.
        """
        rows = Crawl.objects.defer("urls", "config")
        open_ones = rows.open().order_by("-pk")[:CRAWLS_SHOWN]
        new_ones = rows.filter(pk__gte=self._since()).order_by("-pk")[:CRAWLS_SHOWN]
        asked_for = rows.filter(pk__in=watched) if watched else ()
        found = list({crawl.pk: crawl for part in (open_ones, new_ones, asked_for) for crawl in part}.values())
        self._counted = {
            (crawl.pk, scope): self._count(crawl, scope)
            for crawl in found
            for scope in scopes
            if scope.sees(crawl.visibility, crawl.created_by_id)
        }
        self._titles = {crawl.pk: self._titles.get(crawl.pk) or str(crawl) for crawl in found}
        return found

    def _since(self) -> UUID:
        """The least key of crawls that have come since the last look."""
        since, self._looked = self._looked, timezone.now()
        return floor_of(since - LATE)

    def _count(self, crawl: Crawl, scope: ViewerScope) -> CachedCounts:
        known = self._counted.get((crawl.pk, scope))
        return known if known is not None and known.is_good_for(crawl) else CachedCounts(crawl, scope)

    def _pages_now(self, watched: Collection[UUID]) -> dict[UUID, PageNow]:
        """Pages at work by key; their hooks only of crawls that are looked at."""
        rows = pages_at_work(AT_WORK)
        looked_at = with_plugin_states(row for row in rows if row[1] in watched)
        others = [PageNow(*row) for row in rows if row[1] not in watched]
        return {page.pk: page for page in (*looked_at, *others)}

    # --- what is new ------------------------------------------------------------------------------------------

    def _of_pages(self, pages: dict[UUID, PageNow], scopes: Collection[ViewerScope]) -> Iterator[PageFragment]:
        """Rows of pages at work, those of pages that were, and that the page of a page has changed."""
        before, self._pages = self._pages, pages
        ended = with_plugin_states(pages_of(before.keys() - pages.keys()))
        for page in (*pages.values(), *ended):
            if before.get(page.pk) != page:
                html = self._rows[page.pk] = render_to_string("web/live/page_row.html", {"page": page})
                for scope in scopes:
                    if scope.sees(page.visibility, page.owner):
                        yield PageFragment(topic_of(scope, page.crawl_id), f"page-{page.pk}", html)
                        yield PageFragment(topic_of(scope), str(page.pk), None)
        for page in ended:
            del self._rows[page.pk]

    def _of_crawls(
        self, crawls: list[Crawl], watched: Collection[UUID], pages: dict[UUID, PageNow], scope: ViewerScope
    ) -> Iterator[PageFragment]:
        everywhere = topic_of(scope)
        for crawl in crawls:
            progress = self._counted[crawl.pk, scope].progress
            if self._is_new(everywhere, f"of-{crawl.pk}", (crawl.status, progress.total, progress.newest)):
                yield PageFragment(everywhere, str(crawl.pk), None)
                yield PageFragment(everywhere, LIBRARY, None)
            if crawl.pk in watched:
                at_work = [page for page in pages.values() if page.crawl_id == crawl.pk]
                yield from self._of_crawl(crawl, progress, at_work, scope)

    def _of_crawl(
        self, crawl: Crawl, progress: CrawlProgress, pages: list[PageNow], scope: ViewerScope
    ) -> Iterator[PageFragment]:
        """What the page of a crawl shows."""
        topic = topic_of(scope, crawl.pk)
        if self._is_new(topic, "counts", progress):
            html = render_to_string("web/live/crawl_counts.html", self._context(crawl, scope))
            yield PageFragment(topic, f"counts-{crawl.pk}", html)
        now = [self._rows[page.pk] for page in pages if scope.sees(page.visibility, page.owner)]
        if self._is_new(topic, "now", now):
            html = render_to_string("web/live/crawl_now.html", {"crawl": crawl, "rows": now})
            yield PageFragment(topic, f"now-{crawl.pk}", html)

    def _top(self, crawls: list[Crawl], scope: ViewerScope) -> Iterator[PageFragment]:
        """The small counter on top of every page, and the drawer of running crawls that it opens."""
        topic = topic_of(scope)
        lines = [self._context(crawl, scope) for crawl in crawls if crawl.status in Crawl.OPEN]
        if self._is_new(topic, "running", lines):
            sums = _sums([self._counted[crawl.pk, scope].progress for crawl in crawls if crawl.status in Crawl.OPEN])
            yield PageFragment(topic, "running-count", render_to_string("web/live/running_count.html", sums))
            yield PageFragment(topic, "running-list", render_to_string("web/live/running_list.html", {"lines": lines}))

    def _context(self, crawl: Crawl, scope: ViewerScope) -> dict[str, object]:
        return {"crawl": crawl, "title": self._titles[crawl.pk], "progress": self._counted[crawl.pk, scope].progress}

    def _is_new(self, topic: Topic, name: str, value: object) -> bool:
        if self._told.get((topic, name), self) == value:
            return False
        self._told[topic, name] = value
        return True


def _sums(progresses: list[CrawlProgress]) -> dict[str, int]:
    return {
        "crawls": len(progresses),
        "running": sum(progress.running for progress in progresses),
        "waiting": sum(progress.waiting for progress in progresses),
    }
