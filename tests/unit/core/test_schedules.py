"""A schedule whose time has come makes a crawl, or says why not; its links are archived once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from archivebox.accounts import people
from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.users import system_user
from archivebox.core.intake import schedules
from archivebox.core.intake.add_urls import add_found_urls
from archivebox.crawls import control
from archivebox.crawls.models import Crawl, CrawlSchedule, Refused
from archivebox.crawls.schedule import DueAction, Template
from archivebox.machine.models import Machine
from archivebox.workers.queue.claim import Capacity, FetchRequest, claim_work
from archivebox.workers.queue.due import Cursor, next_wanted
from tests.collection import somebody_waits
from tests.integration.engine.driver import wait_for
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
HOUR = timedelta(hours=1)
FEED = "https://example.com/feed"


def schedule(**columns: object) -> CrawlSchedule:
    template = Template(urls=[FEED], max_depth=1, tags=["news"], persona="", config={})
    made = CrawlSchedule(**{"schedule": "every 1h", "template": template, "created_by": system_user()} | columns)
    schedules.put(made)
    return made


def come(one: CrawlSchedule, late: timedelta = timedelta()) -> CrawlSchedule:
    """Let its time have come, so long ago, and let it have its turn."""
    CrawlSchedule.objects.filter(pk=one.pk).update(next_at=timezone.now() - late)
    schedules.start_due()
    return again(one)


def again(one: CrawlSchedule) -> CrawlSchedule:
    return CrawlSchedule.objects.get(pk=one.pk)


def end_all() -> None:
    for crawl in Crawl.objects.exclude(status="cancelled"):
        control.cancel(crawl)


def test_a_due_schedule_makes_one_crawl_of_its_template_and_has_a_next_time() -> None:
    one = come(schedule(label="News"))
    schedules.start_due()
    crawl = Crawl.objects.get()
    assert (crawl.schedule, crawl.label, crawl.max_depth, crawl.tags_str) == (one, "News", 1, "news")
    assert crawl.snapshot_set.get().url == FEED
    assert one.next_at is not None
    assert timedelta(minutes=59) < one.next_at - timezone.now() < HOUR + timedelta(seconds=1)


def test_workers_sleep_until_the_next_time_and_not_because_of_one_that_waits() -> None:
    one = schedule()
    machine = Machine.current().pk
    assert next_wanted(machine, timezone.now()) == one.next_at
    come(one)
    assert come(one).is_waiting
    Crawl.objects.update(retry_at=None)
    assert next_wanted(machine, timezone.now()) is None


@pytest.mark.parametrize(
    ("columns", "late", "is_busy", "turn"),
    [
        ({}, timedelta(minutes=1), False, DueAction.CRAWL),
        ({}, 30 * HOUR, False, DueAction.CRAWL),
        ({}, timedelta(0), True, DueAction.WAIT),
        ({"overlap": "skip"}, timedelta(0), True, DueAction.SKIP),
        ({"catch_up": "skip"}, timedelta(minutes=1), False, DueAction.CRAWL),
        ({"catch_up": "skip"}, HOUR, False, DueAction.SKIP),
        ({"catch_up": "skip", "is_waiting": True}, HOUR, False, DueAction.CRAWL),
        ({"catch_up": "skip", "is_waiting": True}, HOUR, True, DueAction.WAIT),
    ],
)
def test_what_becomes_of_a_time_is_said_by_two_rules(
    columns: dict[str, object], late: timedelta, is_busy: bool, turn: DueAction
) -> None:
    now = timezone.now()
    assert CrawlSchedule(next_at=now - late, **columns).due_action(now, is_busy=is_busy) is turn


def test_who_waits_for_one_crawl_has_no_schedule_begun() -> None:
    CrawlSchedule.objects.filter(pk=schedule().pk).update(next_at=timezone.now())
    chosen = FetchRequest(new_id(), Machine.current().pk, Capacity(1, 1, 1, 1), Cursor(), scope={new_id(): set()})
    claim_work(chosen)
    assert not Crawl.objects.exists()
    claim_work(replace(chosen, scope=None))
    assert Crawl.objects.count() == 1


def test_a_time_that_comes_while_the_last_crawl_runs_waits_for_its_end() -> None:
    one = schedule()
    come(one)
    waiting = come(one)
    schedules.start_due()
    assert (waiting.is_waiting, Crawl.objects.count()) == (True, 1)
    assert again(one).modified_at == waiting.modified_at, "nobody looks at it until then"
    end_all()
    schedules.start_due()
    assert Crawl.objects.count() == 2
    assert not again(one).is_waiting


def test_a_crawl_that_is_paused_has_not_ended() -> None:
    one = come(schedule())
    control.pause(Crawl.objects.get())
    assert come(one).is_waiting
    with pytest.raises(schedules.StillRunningError):
        schedules.run_now(one)


def test_what_is_left_out_is_said_with_its_time_and_why() -> None:
    one = schedule(overlap="skip", catch_up="skip")
    come(one)
    one = come(one)
    assert (one.skipped_for, Crawl.objects.count(), one.is_waiting) == ("overlap", 1, False)
    end_all()
    one = come(one, late=90 * HOUR)
    assert (one.skipped_for, Crawl.objects.count()) == ("missed", 1)
    assert one.skipped_at is not None
    assert timezone.now() - one.skipped_at >= 90 * HOUR


def test_after_a_long_time_off_there_is_one_crawl_for_all_that_was_missed() -> None:
    one = come(schedule(), late=90 * HOUR + timedelta(minutes=20))
    assert Crawl.objects.count() == 1
    assert one.next_at is not None
    assert one.next_at - timezone.now() == pytest.approx(timedelta(minutes=40), abs=timedelta(minutes=1))


def test_one_that_is_paused_makes_nothing_and_goes_on_with_the_next_time() -> None:
    one = schedule()
    assert schedules.pause(one)
    assert not schedules.pause(one)
    schedules.start_due()
    assert not Crawl.objects.exists()
    assert schedules.resume(one)
    assert again(one).next_at is not None


def test_run_now_leaves_its_times_as_they_are() -> None:
    one = schedule()
    crawl = schedules.run_now(one)
    assert crawl.schedule == one
    assert again(one).next_at == one.next_at


def test_a_change_that_is_not_of_its_time_keeps_the_beat_and_one_that_is_begins_anew() -> None:
    one = schedule()
    before = one.next_at
    one.label = "News"
    schedules.put(one)
    assert again(one).next_at == before
    one.schedule = "2h"
    schedules.put(one)
    assert again(one).next_at != before
    schedules.pause(one)
    one.schedule = "3h"
    schedules.put(one)
    assert again(one).is_paused


def test_one_whose_time_cannot_be_understood_any_more_is_paused_and_stops_nobody() -> None:
    one, other = schedule(), schedule()
    CrawlSchedule.objects.filter(pk=one.pk).update(timezone="Gone/Away")
    CrawlSchedule.objects.update(next_at=timezone.now())
    schedules.start_due()
    assert (again(one).is_paused, again(one).skipped_for) == (True, "broken")
    assert Crawl.objects.get().schedule == other


def test_a_schedule_with_an_invalid_setting_is_skipped_and_says_why() -> None:
    template = Template(urls=[FEED], max_depth=1, tags=[], persona="", config={"URL_DENYLIST": "(?!news)"})
    one, other = schedule(template=template), schedule()
    one, other = come(one), come(other)
    assert (one.skipped_for, Crawl.objects.get().schedule) == ("settings", other)
    assert one.next_at is not None


def test_nothing_is_archived_in_the_name_of_an_account_that_is_let_in_no_more() -> None:
    anna, by = User.objects.create_user("anna"), User.objects.create_superuser("ada")
    one, told, other = schedule(created_by=anna), schedule(created_by=anna), schedule()
    User.objects.filter(pk=anna.pk).update(is_active=False)
    come(one)
    assert (again(one).is_paused, again(one).skipped_for) == (True, "disabled")
    people.disable(by, anna)
    assert (again(told).is_paused, again(told).skipped_for, again(other).is_paused) == (True, "disabled", False)
    assert not Crawl.objects.exists()
    for change in (schedules.resume, schedules.run_now):
        with pytest.raises(schedules.OwnerDisabledError, match="anna is disabled"):
            change(again(told))
    people.enable(by, anna)
    assert schedules.resume(again(told))


def found(one: CrawlSchedule, *names: str) -> int:
    """How many new pages the feed brings in the next crawl of the schedule, which then ends."""
    crawl = schedules.run_now(one)
    records = [{"url": f"https://example.com/{name}"} for name in names]
    taken = add_found_urls(crawl.snapshot_set.get(url=FEED), records).taken
    arrange(crawl.snapshot_set.all(), status="sealed", retry_at=None)  # else what is cancelled was never archived
    end_all()
    return taken


def test_an_entry_of_a_feed_is_archived_once_by_its_schedule() -> None:
    one = schedule()
    assert found(one, "a", "b") == 2
    assert found(one, "a", "b", "c") == 1
    refused = Refused.objects.get(crawl__schedule=one)
    assert (refused.code, refused.count) == ("archived_before", 2)
    assert found(schedule(), "a") == 1, "another schedule has its own"


def test_links_are_archived_each_time_where_that_is_wished() -> None:
    one = schedule(recapture=True)
    assert (found(one, "a"), found(one, "a")) == (1, 1)


def test_what_a_cancelled_crawl_did_not_fetch_is_taken_by_the_next() -> None:
    one = schedule()
    assert found(one, "a") == 1
    arrange(Crawl.objects.get().snapshot_set.filter(depth=1), status="cancelled")
    assert found(one, "a") == 1


def test_a_schedule_that_is_removed_leaves_its_crawls() -> None:
    one = come(schedule())
    one.delete()
    assert Crawl.objects.get().schedule is None


def test_nothing_is_written_where_its_time_is_none() -> None:
    with pytest.raises(ValueError, match="not a recurring time"):
        schedule(schedule="whenever")
    assert not CrawlSchedule.objects.exists()


@pytest.mark.database
@pytest.mark.usefixtures("transactional_db")
def test_one_that_is_removed_while_its_crawl_is_made_is_gone_and_the_crawl_stays() -> None:
    one = schedule()
    with ThreadPoolExecutor(max_workers=1) as others:
        with write_transaction():
            made = schedules.run_now(one)
            removed = others.submit(schedules.remove, again(one))
            wait_for("the removal", somebody_waits)
        removed.result()
        others.submit(connections.close_all).result()
    assert not CrawlSchedule.objects.exists()
    assert Crawl.objects.get(pk=made.pk).schedule is None
