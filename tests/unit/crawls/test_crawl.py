from datetime import timedelta

import pytest
from django.db import IntegrityError, connection
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.crawls.crawl import URLS_KEPT
from archivebox.crawls.models import Crawl, CrawlRun, CrawlSchedule
from archivebox.machine.models import Machine
from tests.factories import crawl, row
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")


def test_pending_children_are_unsealed_snapshots_and_runs() -> None:
    one = crawl()
    assert one.has_pending_children()
    arrange(one.snapshot_set.all(), status="sealed", retry_at=None)
    assert not one.has_pending_children()
    run = CrawlRun.of(one.pk, Machine.current().pk)
    assert one.has_pending_children()
    run.transition("start")
    run.transition("seal")
    assert not one.has_pending_children()
    arrange(one.snapshot_set.all(), status="cancelled")
    assert not one.has_pending_children()


def test_next_wanted_is_the_earliest_of_its_free_snapshots() -> None:
    one = crawl("https://example.com/1", "https://example.com/2")
    later = timezone.now() + timedelta(hours=1)
    one.snapshot_set.filter(url__endswith="1").update(retry_at=later)
    one.snapshot_set.filter(url__endswith="2").update(owner=new_id())
    assert one.next_wanted() == later
    one.snapshot_set.update(retry_at=None)
    assert one.next_wanted() is None


def test_the_end_asks_every_run_to_end() -> None:
    one = crawl()
    here, there = CrawlRun.of(one.pk, Machine.current().pk), CrawlRun.of(one.pk, Machine.objects.create().pk)
    CrawlRun.objects.filter(pk=here.pk).update(owner=new_id())
    one.transition("cancel")
    assert CrawlRun.objects.get(pk=here.pk).request == "cancel"
    assert CrawlRun.objects.get(pk=there.pk).request == ""  # nobody holds it


def test_one_run_per_machine_with_the_crawls_folder() -> None:
    one = crawl()
    run = CrawlRun.of(one.pk, Machine.current().pk)
    assert CrawlRun.of(one.pk, Machine.current().pk) == run
    assert (run.path, run.created_by) == (one.path, one.created_by)
    assert one.local_path == one.path
    elsewhere = Machine.objects.create()
    assert CrawlRun.of(one.pk, elsewhere.pk).path == one.path / ".machines" / str(elsewhere.pk)
    with pytest.raises(IntegrityError):
        CrawlRun.objects.create(crawl=one, machine=Machine.current(), created_by=one.created_by)


def test_starting_a_run_makes_its_folder_and_sealing_it_wakes_the_crawl() -> None:
    one = crawl()
    run = CrawlRun.of(one.pk, Machine.current().pk)
    run.transition("start")
    assert not run.path.exists()  # it is made when a hook of it starts
    Crawl.objects.update(retry_at=None)
    CrawlRun.objects.update(ready_at=timezone.now())
    run.refresh_from_db()
    run.transition("seal")
    assert CrawlRun.objects.get().ready_at is None
    assert Crawl.objects.get().retry_at is not None


def test_processes_and_names() -> None:
    one = crawl("https://example.com/1", "https://example.com/2")
    hook = row(process_type="hook", crawl_id=one.pk)
    assert list(one.process_set) == [hook]
    assert str(one) == "example.com and 1 more"
    assert str(CrawlSchedule(schedule="daily")) == "daily"
    assert list(Crawl.objects.all().open()) == [one]
    shared = ["fleet"] if connection.vendor == "postgresql" else []
    assert [layer.name for layer in one.layers()] == [*shared, "file", "machine", "environment", "persona", "crawl"]


def test_a_crawl_is_called_by_its_label_its_url_or_the_host_of_its_first_and_a_count() -> None:
    urls = [f"https://example.com/{number}" for number in range(URLS_KEPT)]
    named = {count: str(Crawl(urls="\n".join(urls[:count]))) for count in (1, 10, URLS_KEPT)}
    host = "example.com and"
    assert named == {1: "https://example.com/0", 10: f"{host} 9 more", URLS_KEPT: f"{host} 999+ more"}
    assert str(Crawl(urls="\n".join(urls), label="Mine")) == "Mine"
