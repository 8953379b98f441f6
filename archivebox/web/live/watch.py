"""Owns the look at the database for all viewers, and what it makes of it: parts of pages that have changed."""

import time
from collections.abc import Collection, Iterator
from uuid import UUID

from django.template.loader import render_to_string

from archivebox.core.progress import PageNow, Progress, pages_at_work, pages_of, progress_of, with_pills
from archivebox.crawls.crawl import Crawl
from archivebox.web.live.hub import Part, Topic

CRAWLS_SHOWN = 20
"""Open crawls in the drawer."""
AT_WORK = 64
"""Pages at work that are followed."""
LIBRARY = "library"
"""What changes with the number of pages."""
COUNT_REST = 50
"""How many times as long as counting a crawl's pages took, the count is not taken again: it may be 10 ms."""


def topic_of(crawl_id: UUID) -> Topic:
    return f"crawl:{crawl_id}"


class Counted:
    """The numbers of one crawl, and when they may be taken again."""

    def __init__(self, crawl: Crawl) -> None:
        began = time.monotonic()
        self.progress = progress_of(crawl)
        now = time.monotonic()
        self.good_until = now + COUNT_REST * (now - began)

    def is_good_for(self, crawl: Crawl) -> bool:
        return crawl.status == self.progress.status and time.monotonic() < self.good_until


class Watch:
    """What was seen at the last look, so that the next one tells what is new. Used on one thread."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._told: dict[str, object] = {}
        self._pages: dict[UUID, PageNow] = {}
        self._rows: dict[UUID, str] = {}
        self._counted: dict[UUID, Counted] = {}
        self._titles: dict[UUID, str] = {}
        self._topics: frozenset[Topic] = frozenset()

    def look(self, topics: Collection[Topic]) -> list[Part]:
        """The parts of these topics that are not as they were; blocks."""
        watched = {UUID(topic.partition(":")[2]) for topic in topics if topic}
        crawls = self._crawls(watched)
        pages = self._look_at_pages(watched)
        self._topics = frozenset(topics)
        return [*self._of_pages(pages), *self._of_crawls(crawls, watched, pages), *self._top(crawls)]

    # --- reading ----------------------------------------------------------------------------------------------

    def _crawls(self, watched: Collection[UUID]) -> list[Crawl]:
        """Those that are open, and those that are looked at; what was asked for, up to 64 KB of each, is read once."""
        rows = Crawl.objects.defer("urls", "config")
        open_ones = list(rows.open().order_by("-pk")[:CRAWLS_SHOWN])
        missing = set(watched) - {crawl.pk for crawl in open_ones}
        found = open_ones + (list(rows.filter(pk__in=missing)) if missing else [])
        self._counted = {crawl.pk: self._count(crawl) for crawl in found}
        self._titles = {crawl.pk: self._titles.get(crawl.pk) or str(crawl) for crawl in found}
        return found

    def _count(self, crawl: Crawl) -> Counted:
        known = self._counted.get(crawl.pk)
        return known if known is not None and known.is_good_for(crawl) else Counted(crawl)

    def _look_at_pages(self, watched: Collection[UUID]) -> dict[UUID, PageNow]:
        """Pages at work by key; their hooks only of crawls that are looked at."""
        rows = pages_at_work(AT_WORK)
        looked_at = with_pills(row for row in rows if row[1] in watched)
        others = [PageNow(*row) for row in rows if row[1] not in watched]
        return {page.pk: page for page in (*looked_at, *others)}

    # --- what is new ------------------------------------------------------------------------------------------

    def _of_pages(self, pages: dict[UUID, PageNow]) -> Iterator[Part]:
        """Rows of pages at work, those of pages that were, and that the page of a page has changed."""
        before, self._pages = self._pages, pages
        ended = with_pills(pages_of(before.keys() - pages.keys()))
        for page in (*pages.values(), *ended):
            if before.get(page.pk) != page:
                html = self._rows[page.pk] = render_to_string("web/live/page_row.html", {"page": page})
                yield Part(topic_of(page.crawl_id), f"page-{page.pk}", html)
                yield Part("", str(page.pk), None)
        for page in ended:
            del self._rows[page.pk]

    def _of_crawls(self, crawls: list[Crawl], watched: Collection[UUID], pages: dict[UUID, PageNow]) -> Iterator[Part]:
        for crawl in crawls:
            topic, progress = topic_of(crawl.pk), self._counted[crawl.pk].progress
            if self._is_new(f"of-{crawl.pk}", (crawl.status, progress.total, progress.newest)):
                yield Part("", str(crawl.pk), None)
                yield Part("", LIBRARY, None)
            if crawl.pk not in watched:
                continue
            if self._is_new(f"counts-{crawl.pk}", progress):
                html = render_to_string("web/live/crawl_counts.html", self._context(crawl))
                yield Part(topic, f"counts-{crawl.pk}", html)
            now = [self._rows[page.pk] for page in pages.values() if page.crawl_id == crawl.pk]
            if self._is_new(f"now-{crawl.pk}", now):
                html = render_to_string("web/live/crawl_now.html", {"crawl": crawl, "rows": now})
                yield Part(topic, f"now-{crawl.pk}", html)

    def _top(self, crawls: list[Crawl]) -> Iterator[Part]:
        """The small counter on top of every page, and the drawer of running crawls that it opens."""
        lines = [self._context(crawl) for crawl in crawls if crawl.status in Crawl.OPEN]
        if self._is_new("running", lines):
            sums = _sums([self._counted[crawl.pk].progress for crawl in crawls if crawl.status in Crawl.OPEN])
            yield Part("", "running-count", render_to_string("web/live/running_count.html", sums))
            yield Part("", "running-list", render_to_string("web/live/running_list.html", {"lines": lines}))

    def _context(self, crawl: Crawl) -> dict[str, object]:
        return {"crawl": crawl, "title": self._titles[crawl.pk], "progress": self._counted[crawl.pk].progress}

    def _is_new(self, name: str, value: object) -> bool:
        if self._told.get(name, self) == value:
            return False
        self._told[name] = value
        return True


def _sums(progresses: list[Progress]) -> dict[str, int]:
    return {
        "crawls": len(progresses),
        "running": sum(progress.running for progress in progresses),
        "waiting": sum(progress.waiting for progress in progresses),
    }
