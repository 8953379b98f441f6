"""A crawl's pages are counted as far as that is cheap, by indexes alone."""

import re

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.base_models.visibility import EVERYTHING
from archivebox.core.crawl_control.edit_crawl import queue_of
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.progress import crawl_progress
from archivebox.core.progress.crawl_progress import (
    CrawlProgress,
    PageNow,
    PluginState,
    Size,
    nothing_kept,
    pages_of,
    progress_of,
    sizes_of,
    with_plugin_states,
)
from tests import factories
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
URLS = [f"https://{name}.example/" for name in "abcde"]
SHOWN = {"wget": "succeeded", "git": "skipped", "pdf": "failed", "ytdlp": "skipped", "title": "noresults"}


@pytest.mark.database
def test_pages_are_counted_by_state_without_those_that_were_removed() -> None:
    crawl, other = factories.crawl(*URLS), factories.crawl(URLS[0])
    done, removed = crawl.snapshot_set.order_by("url")[:2]
    arrange(Snapshot.objects.filter(pk=done.pk), status="sealed", sealed_at=timezone.now())
    Snapshot.objects.filter(pk=removed.pk).update(retired_at=timezone.now())
    found = progress_of(crawl, EVERYTHING)
    assert (found.counts, found.total, found.is_exact) == ({"sealed": 1, "queued": 3}, 4, True)
    assert found.a_minute > 0
    assert sizes_of([other, crawl], EVERYTHING) == [Size(1, 0), Size(4, 1)]


@pytest.mark.database
def test_pages_that_were_excluded_are_not_waited_for() -> None:
    crawl = factories.crawl(*URLS)
    first, *others = crawl.snapshot_set.order_by("url")
    arrange(Snapshot.objects.filter(pk__in=[one.pk for one in others]), status="cancelled", retry_at=None)
    arrange(Snapshot.objects.filter(pk=first.pk), status="sealed", sealed_at=timezone.now(), retry_at=None)
    found = progress_of(crawl, EVERYTHING)
    assert (found.done, found.wanted, found.total) == (1, 1, 5)
    assert sizes_of([crawl], EVERYTHING) == [Size(1, 1)]


@pytest.mark.database
def test_pages_of_a_stopped_crawl_that_had_begun_are_among_its_pages() -> None:
    crawl = factories.crawl(*URLS)
    first, *others = crawl.snapshot_set.order_by("pk")
    arrange(Snapshot.objects.filter(pk=first.pk), status="cancelled", retry_at=None, fence=1)
    arrange(Snapshot.objects.filter(pk__in=[one.pk for one in others]), status="cancelled", retry_at=None)
    found = progress_of(crawl, EVERYTHING)
    assert (found.counts, found.done, found.wanted) == ({"cancelled": 4, "stopped": 1}, 1, 1)
    assert sizes_of([crawl], EVERYTHING) == [Size(1, 1)]


def test_what_was_not_counted_to_its_end_gives_no_time_that_is_left() -> None:
    exact = CrawlProgress("started", {"sealed": 5, "queued": crawl_progress.COUNTED}, 10.0, 0, None)
    assert exact.seconds_left == 60 * crawl_progress.COUNTED / 10
    more = CrawlProgress("started", {"sealed": 5, "queued": crawl_progress.COUNTED + 1}, 10.0, 0, None)
    assert (more.is_exact, more.seconds_left) == (False, None)


@pytest.mark.once
def test_counts_and_lists_of_a_crawl_are_read_from_indexes_alone() -> None:
    crawl = factories.crawl(*URLS)
    with CaptureQueriesContext(connection) as asked:
        progress_of(crawl, EVERYTHING)
        sizes_of([crawl], EVERYTHING)
        list(queue_of(crawl)[:3].values_list("pk"))
    for query in asked.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
        assert "SCAN core_snapshot" not in plan, plan
        assert "TEMP B-TREE" not in plan, plan


def test_a_sealed_page_of_which_nothing_came_is_not_said_to_be_done() -> None:
    page = factories.crawl(URLS[0]).snapshot_set.get()
    page.archiveresult_set.all().delete()
    arrange(Snapshot.objects.filter(pk=page.pk), status="sealed")
    assert [one.verdict for one in with_plugin_states(pages_of([page.pk]))] == ["nothing kept"]
    arrange(Snapshot.objects.filter(pk=page.pk), status="started")
    assert [one.verdict for one in with_plugin_states(pages_of([page.pk]))] == [""]


@pytest.mark.database
def test_a_page_of_which_only_its_connection_was_kept_counts_as_nothing() -> None:
    crawl = factories.crawl(*URLS[:4])
    pages = crawl.snapshot_set.order_by("url")
    arrange(pages, status="sealed", sealed_at=timezone.now())
    ArchiveResult.objects.filter(snapshot__in=pages).delete()
    shown, gone, bare, titled = pages
    for page, plugin, file in ((shown, "dom", "output.html"), (gone, "dns", "dns.jsonl"), (titled, "title", "")):
        ArchiveResult.objects.create(snapshot=page, plugin=plugin, status="succeeded", output_files={file: {}})
    ArchiveResult.objects.create(snapshot=gone, plugin="chrome", status="failed", reason="no_such_host")
    assert nothing_kept(pages) == 2
    assert nothing_kept(pages.exclude(pk=bare.pk)) == 1
    ArchiveResult.objects.create(snapshot=shown, plugin="chrome", status="failed", reason="login_wall")
    assert nothing_kept(pages.exclude(pk=bare.pk)) == 2, "what was kept of it is a log-in page"


@pytest.mark.once
def test_a_running_page_lists_each_plugins_result_and_a_sealed_one_its_failures() -> None:
    pills = [PluginState(name, status, "", None, None, 0) for name, status in SHOWN.items()]
    key = new_id()
    page = PageNow(key, key, URLS[0], "", "started", 0, "members", 1, 200, tuple(pills))
    assert shown_pills(page) == ["wget", "pdf", "title", "2 skipped"]
    assert shown_pills(page._replace(status="sealed")) == ["pdf", "1 saved", "1 no results", "2 skipped"]
    assert 'title="git, ytdlp"' in render_to_string("web/live/page_row.html", {"page": page})


def shown_pills(page: PageNow) -> list[str]:
    html = render_to_string("web/live/page_row.html", {"page": page})
    return re.findall(r'<li class="pill [a-z]+" title="[^"]*">(\w[\w ]*)<', html)
