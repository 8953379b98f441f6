"""A long list of URLs is added in parts: all of it or nothing, and nobody else waits for its end."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from django.utils import timezone

from archivebox.base_models.users import system_user
from archivebox.contract.reasons import Reason
from archivebox.core.intake import batches
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.batches import HELD_BACK, AddingEndedError, add_in_parts, remove_abandoned
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.models import Snapshot, Tag
from archivebox.crawls.control import cancel, resume
from archivebox.crawls.models import Crawl
from archivebox.workers.queue.ticks import tick_crawls
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("transactional_db", "collection")


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "LONG", 3)
    monkeypatch.setattr(batches, "PART", 2)


def seeds(count: int) -> list[Seed]:
    return [Seed(f"https://h{number}.example/", tags=("own",)) for number in range(count)]


def planned() -> Crawl:
    return Crawl.plan(created_by=system_user(), urls=["https://h.example/"], **HELD_BACK)


def test_all_of_it_is_there_as_if_it_were_short() -> None:
    crawl = create_crawl(seeds(7), CrawlRequest(tags=["all"]), created_by=system_user(), source="sources/x.txt")
    row = Crawl.objects.get(pk=crawl.pk)
    assert (row.status, row.reason, row.source) == ("queued", "", "sources/x.txt")
    assert row.retry_at is not None
    assert crawl.snapshot_set.count() == 7
    assert {tag.name: tag.snapshot_set.count() for tag in Tag.objects.all()} == {"all": 7, "own": 7}


def test_what_is_held_back_stays_paused() -> None:
    crawl = create_crawl(seeds(5), CrawlRequest(hold=True), created_by=system_user())
    assert (crawl.status, crawl.reason, crawl.retry_at) == ("paused", "", None)


def test_nothing_of_it_runs_until_all_is_there() -> None:
    def look(_: Sequence[object]) -> None:
        tick_crawls()
        (row,) = Crawl.objects.all()
        assert (row.status, row.reason) == ("paused", Reason.BEING_ADDED)

    add_in_parts(planned(), range(4), look)
    tick_crawls()
    assert Crawl.objects.get().status != "paused"


def test_after_an_error_nothing_is_left() -> None:
    def break_at_the_end(crawl: Crawl, some: Sequence[int]) -> None:
        Snapshot.objects.create(crawl=crawl, url=f"https://{some[0]}.example/", created_by=crawl.created_by)
        if 6 in some:
            raise OSError("no room")

    crawl = planned()
    with pytest.raises(OSError, match="no room"):
        add_in_parts(crawl, range(7), lambda some: break_at_the_end(crawl, some))
    assert not Crawl.objects.exists()
    assert not Snapshot.objects.exists()


def test_what_a_killed_command_left_is_removed_and_what_goes_on_is_not() -> None:
    left, goes_on = (create_crawl(seeds(5), created_by=system_user()) for _ in range(2))
    arrange(Crawl.objects.all(), status="paused", reason=Reason.BEING_ADDED)
    Crawl.objects.filter(pk=left.pk).update(modified_at=timezone.now() - timedelta(hours=1))
    assert remove_abandoned()
    assert list(Crawl.objects.all()) == [goes_on]
    assert Snapshot.objects.count() == 5
    assert not remove_abandoned()


def test_who_adds_to_a_removed_crawl_is_told() -> None:
    def remove(_: Sequence[object]) -> None:
        Crawl.objects.all().delete()

    with pytest.raises(AddingEndedError):
        add_in_parts(planned(), range(4), remove)


@pytest.mark.parametrize(("ask", "status"), [(resume, "queued"), (cancel, "cancelled")])
def test_what_people_ask_of_it_meanwhile_holds_for_all_of_it(ask: Callable[[Crawl], bool], status: str) -> None:
    def ask_once(_: Sequence[object]) -> None:
        ask(Crawl.objects.get())

    add_in_parts(planned(), range(4), ask_once)
    row = Crawl.objects.get()
    assert row.status == status
    assert row.retry_at is not None, "it is ticked for what came since"
