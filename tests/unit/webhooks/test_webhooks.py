"""What is told to whom, and what becomes of messages that are not taken."""

import asyncio
import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from archivebox.accounts.roles import Account
from archivebox.base_models.rows import first_id
from archivebox.base_models.transactions import write_transaction
from archivebox.core.intake import schedules
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls import control
from archivebox.crawls.models import Crawl, CrawlSchedule
from archivebox.crawls.schedule import Template
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.models import Job
from archivebox.jobs.runner import end_lease
from archivebox.lib.egress import Dialer, DialRules
from archivebox.lib.networks import NetworkRules
from archivebox.webhooks import registering
from archivebox.webhooks.models import AGAIN_AFTER, Delivery, Event, Webhook
from archivebox.webhooks.outbox import enqueue_test_event
from archivebox.webhooks.settling import KEPT, Tried, send_again, settle
from archivebox.webhooks.signing import signed_fields
from archivebox.workers.execute.delivery_executor import is_meant, load, send
from archivebox.workers.execute.page.rows import seal
from archivebox.workers.queue.reclaim import end_impossible_waits
from tests import factories
from tests.status_triggers import arrange

SOON = timedelta(minutes=1)


def webhook(*events: Event, role: str = "viewer", query: str = "") -> Webhook:
    owner = User.objects.create_user(f"{role}{User.objects.count()}")
    Account.objects.create(user=owner, role=role)
    made = Webhook(url="https://example.org/", events=list(events or Event), query=query, created_by=owner)
    registering.put(made, NetworkRules())
    return made


def tried(delivery: Delivery, status: int, retry_after: int = 0) -> Delivery:
    """The message after one more try, by a worker, with this answer; 0: none."""
    worker = factories.row(process_type="worker", status="running").pk
    Delivery.objects.filter(pk=delivery.pk).update(retry_at=timezone.now())
    assert Delivery.claim([delivery.pk], worker)
    outcome = Tried(status, timedelta(seconds=0.5), "" if status else "Silence.", retry_after)
    settle(Delivery.objects.get(pk=delivery.pk), outcome)
    return Delivery.objects.get(pk=delivery.pk)


def waits(delivery: Delivery) -> timedelta:
    now = Delivery.objects.get(pk=delivery.pk)
    assert now.retry_at is not None
    return now.retry_at - (now.tried_at or timezone.now())


def test_the_signature_is_that_of_the_specification() -> None:
    """Its own example: github.com/standard-webhooks/standard-webhooks, libraries, tests."""
    fields = signed_fields(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert fields["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.usefixtures("collection")
def test_what_happens_is_told_in_its_own_transaction_to_those_who_want_it() -> None:
    every, some = webhook(), webhook(Event.CRAWL_PAUSED)
    crawl = factories.crawl()
    with write_transaction():
        control.pause(crawl)
        transaction.set_rollback(True)
    crawl.refresh_from_db()
    assert not Delivery.objects.exists(), "what was undone is not told"
    control.pause(crawl)
    control.resume(crawl)
    control.cancel(crawl)
    template = Template(urls=["https://example.com/"], max_depth=0, tags=[], persona="", config={})
    again = CrawlSchedule.objects.create(schedule="daily", template=template, created_by=crawl.created_by)
    finished = schedules.run_now(again)
    finished.transition("start")
    finished.transition("seal")
    job = begin(
        JobRequest("tag", created_by=crawl.created_by, options={"tags": ["x"]}, snapshots=[crawl.snapshot_set.get().pk])
    )
    end_lease(Job.objects.get(pk=job.pk), "seal")
    told = list(Delivery.objects.filter(webhook=every).order_by("pk").values_list("event", flat=True))
    assert told == ["crawl.paused", "crawl.cancelled", "schedule.started", "crawl.finished", "job.finished"]
    assert Delivery.objects.get(webhook=some).object_id == crawl.pk
    body = json.loads(Delivery.objects.get(webhook=every, event="job.finished").body)
    assert (body["type"], body["data"]["id"], body["data"]["kind"]) == ("job.finished", str(job.pk), "tag")


@pytest.mark.usefixtures("collection")
@pytest.mark.parametrize(("status", "event"), [("succeeded", "snapshot.sealed"), ("failed", "snapshot.failed")])
def test_a_sealed_page_is_told_with_what_came_of_it(status: str, event: str) -> None:
    webhook()
    snapshot = factories.leased(factories.snapshot())
    snapshot.transition("start")
    files = {"title.txt": {"size": 5}} if status == "succeeded" else {}
    ArchiveResult.objects.filter(snapshot=snapshot).delete()
    ArchiveResult.objects.create(
        snapshot=snapshot, plugin="title", hook_name="on_Snapshot__54_title.py", status=status, output_files=files,
        reason="" if files else "nonzero_exit",
    )  # fmt: skip
    Snapshot.objects.filter(pk=snapshot.pk).update(title="Read meanwhile")
    seal(snapshot)
    told = json.loads(Delivery.objects.get().body)
    assert (told["type"], told["data"]["title"]) == (event, "Read meanwhile")
    assert told["data"]["state"] == ("kept" if files else "nothing kept")


@pytest.mark.usefixtures("collection")
def test_a_message_with_an_invalid_query_says_so_and_stops_no_worker() -> None:
    made = webhook()
    Webhook.objects.filter(pk=made.pk).update(query="(of another version")
    page, worker = factories.snapshot(), factories.row(process_type="worker", status="running").pk
    message = Delivery.objects.create(
        webhook=made, created_by=made.created_by, event="snapshot.sealed", object_id=page.pk, body="{}"
    )
    assert Delivery.claim([message.pk], worker)
    loaded = load(message.pk, worker)
    assert loaded is not None
    assert loaded.dialer is None
    assert loaded.problem.startswith("It was not sent: ")


@pytest.mark.usefixtures("collection")
def test_a_message_is_for_pages_that_its_owner_may_see_and_asked_for() -> None:
    snapshot = factories.snapshot("https://example.com/news/")
    asked = webhook(query="url:news")
    for made in (asked, webhook(query="url:sport")):
        Delivery.objects.create(
            webhook=made, created_by=made.created_by, event="snapshot.sealed", object_id=snapshot.pk, body="{}"
        )
    assert [is_meant(one) for one in Delivery.objects.order_by("pk")] == [True, False]
    ours = Delivery.objects.get(webhook=asked)
    Snapshot.objects.update(retired_at=timezone.now())
    assert not is_meant(ours), "it was removed"
    Snapshot.objects.update(retired_at=None, visibility="private")
    assert not is_meant(ours), "it is somebody else's"
    of_crawl = enqueue_test_event(asked)
    of_crawl.event, of_crawl.object_id = "crawl.finished", snapshot.crawl_id
    assert is_meant(of_crawl)
    Crawl.objects.update(visibility="private")
    assert not is_meant(of_crawl)
    of_job = enqueue_test_event(asked)
    of_job.event, of_job.object_id = "job.finished", Job.objects.create(kind="tag", created_by=asked.created_by).pk
    assert is_meant(of_job)
    Job.objects.update(created_by=snapshot.created_by)
    assert not is_meant(of_job)
    Snapshot.objects.update(visibility="members")
    assert is_meant(ours)
    ours.created_by.is_active = False
    assert not is_meant(ours), "who is disabled is told nothing"


@pytest.mark.usefixtures("collection")
def test_a_refused_message_is_retried_for_three_days_then_the_webhook_is_off() -> None:
    made = webhook()
    first, other = enqueue_test_event(made), enqueue_test_event(made)
    for count, wait in enumerate(AGAIN_AFTER, start=1):
        now = tried(first, 503)
        assert (now.status, now.tries, now.http_status) == ("queued", count, 503)
        assert abs(waits(now) - wait) < SOON
    assert waits(other) > AGAIN_AFTER[-2], "what was not tried waits as long"
    assert not end_impossible_waits(), "no clock was set back"
    last = tried(first, 0)
    made.refresh_from_db()
    assert (last.status, last.problem, last.retry_at) == ("failed", "Silence.", None)
    assert made.problem == "For three days it took nothing. The last time: Silence."
    assert Delivery.objects.get(pk=other.pk).retry_at is None, "what waits is held"


@pytest.mark.usefixtures("collection")
@pytest.mark.parametrize(("wish", "seconds"), [(600, 600), (1, 5), (10**9, 86_400)])
def test_who_wishes_to_be_left_alone_is_for_a_day_at_most(wish: int, seconds: int) -> None:
    made = webhook()
    first, other = enqueue_test_event(made), enqueue_test_event(made)
    assert abs(waits(tried(first, 429, wish)) - timedelta(seconds=seconds)) < timedelta(seconds=4)
    assert abs(waits(other) - timedelta(seconds=seconds)) < SOON


def test_a_private_address_is_refused_in_words_of_webhooks() -> None:
    message = Delivery(webhook=Webhook(url="http://127.0.0.1:9/"), body="{}")
    answer = asyncio.run(send(Dialer(DialRules()), message))
    assert (answer.http_status, answer.sentence) == (0, registering.private("127.0.0.1"))


@pytest.mark.usefixtures("collection")
def test_one_message_that_is_never_taken_keeps_no_other_from_its_way() -> None:
    made = webhook()
    bad, good = enqueue_test_event(made), enqueue_test_event(made)
    tried(bad, 400)
    assert timedelta(0) < waits(good)
    tried(good, 204)
    another = enqueue_test_event(made)
    for _ in AGAIN_AFTER:
        bad = tried(bad, 400)
        tried(another, 204)
        arrange(Delivery.objects.filter(pk=another.pk), status="queued")
    made.refresh_from_db()
    assert (bad.status, made.is_enabled) == ("failed", True)
    assert send_again(bad)
    assert Delivery.objects.get(pk=bad.pk).tries == 0


@pytest.mark.usefixtures("collection")
def test_who_answers_gone_is_asked_no_more() -> None:
    made = webhook()
    tried(enqueue_test_event(made), 410)
    made.refresh_from_db()
    assert "410" in made.problem
    assert not made.is_enabled


@pytest.mark.usefixtures("collection")
def test_old_settled_messages_are_deleted_also_of_removed_webhooks() -> None:
    made = webhook()
    old = first_id(timezone.now() - KEPT - SOON)
    Delivery.objects.create(pk=old, webhook=made, created_by=made.created_by, event="x", body="", retry_at=None)
    under_way = enqueue_test_event(made)
    assert Delivery.claim([under_way.pk], factories.row().pk)
    known = Delivery.objects.get(pk=under_way.pk)
    tried(enqueue_test_event(made), 200)
    assert not Delivery.objects.filter(pk=old).exists()
    registering.remove(made)
    settle(known, Tried(200, timedelta(0)))
    assert not Delivery.objects.exists()
