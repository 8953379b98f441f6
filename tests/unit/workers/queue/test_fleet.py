"""Where machines share a database, nothing waits for one that has fallen silent."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl, CrawlRun
from archivebox.machine.models import Machine, PeriodicTask, Process
from archivebox.workers.queue.fleet import (
    RUN_LOST,
    SILENT,
    close_silent_machines,
    reclaim_elsewhere,
    record_heartbeat,
    seal_runs_without_worker,
)
from tests.factories import crawl, leased, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")


def machine(*, silent_for: timedelta) -> Machine:
    return Machine.objects.create(pk=new_id(), hostname="elsewhere", seen_at=timezone.now() - silent_for)


def at_work_on(elsewhere: Machine) -> tuple[Process, CrawlRun]:
    work = crawl("https://one.example/")
    arrange(Crawl.objects.filter(pk=work.pk), status="started", retry_at=None)
    run = CrawlRun.of(work.pk, elsewhere.pk)
    arrange(CrawlRun.objects.filter(pk=run.pk), status="started", retry_at=timezone.now())
    return Process.objects.create(machine=elsewhere, status="running"), run


def test_a_silent_machine_is_abandoned() -> None:
    process, run = at_work_on(machine(silent_for=SILENT + timedelta(seconds=1)))
    assert (close_silent_machines(), seal_runs_without_worker()) == (1, 1)
    process.refresh_from_db()
    run.refresh_from_db()
    assert (process.status, process.end_reason, process.exit_code) == ("exited", "lost", None)
    assert (run.status, run.reason, run.retry_at) == ("sealed", "worker_lost", None)
    assert run.crawl.retry_at is not None, "its crawl is told"
    assert (close_silent_machines(), seal_runs_without_worker()) == (0, 0)


def test_no_crawl_waits_for_a_run_of_a_machine_whose_leases_are_long_over() -> None:
    process, run = at_work_on(machine(silent_for=RUN_LOST + timedelta(seconds=1)))
    assert (close_silent_machines(), seal_runs_without_worker()) == (0, 1)
    process.refresh_from_db()
    run.refresh_from_db()
    assert (process.status, run.status, run.reason) == ("running", "sealed", "worker_lost")
    assert run.crawl.retry_at is not None, "its crawl is told"


def test_one_that_gave_a_sign_is_left_alone() -> None:
    process, run = at_work_on(machine(silent_for=RUN_LOST - timedelta(seconds=10)))
    assert (close_silent_machines(), seal_runs_without_worker()) == (0, 0)
    process.refresh_from_db()
    run.refresh_from_db()
    assert (process.status, run.status) == ("running", "started")


def test_a_run_that_is_leased_belongs_to_its_worker() -> None:
    _, run = at_work_on(machine(silent_for=SILENT * 2))
    CrawlRun.objects.filter(pk=run.pk).update(owner=new_id())
    assert seal_runs_without_worker() == 0
    run.refresh_from_db()
    assert run.status == "started"


def test_no_crawl_waits_for_its_run_on_a_machine_that_drains() -> None:
    elsewhere = machine(silent_for=timedelta())
    _, run = at_work_on(elsewhere)
    assert seal_runs_without_worker() == 0, "it works"
    elsewhere.drain(timedelta(hours=1))
    CrawlRun.objects.filter(pk=run.pk).update(owner=new_id())
    assert seal_runs_without_worker() == 0, "a worker there holds it"
    CrawlRun.objects.filter(pk=run.pk).update(owner=None)
    assert record_heartbeat() == 1
    run.refresh_from_db()
    assert (run.status, run.retry_at) == ("sealed", None)
    assert run.crawl.retry_at is not None, "its crawl is told"


def test_a_beat_that_comes_too_soon_after_another_takes_nothing_back() -> None:
    """That was of this machine or of another: one of all looks for silent ones."""
    record_heartbeat()
    at_work_on(machine(silent_for=SILENT * 2))
    assert record_heartbeat() == 0
    PeriodicTask.objects.update(next_at=timezone.now() - timedelta(seconds=1))
    assert record_heartbeat() == 2


def test_a_beat_says_how_busy_the_machine_is() -> None:
    record_heartbeat()
    assert Machine.objects.get(pk=Machine.current().pk).load is not None


@pytest.mark.database
@pytest.mark.skipif(connection.vendor != "postgresql", reason="who shares a file has one clock")
@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_goes_wrong_takes_no_work_from_the_living(monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    """A worker elsewhere takes a page and renews its lease; ours, whose clock differs, looks who is silent."""
    worker, _ = at_work_on(machine(silent_for=timedelta()))
    page, right = Snapshot.objects.get(), timezone.now
    assert Snapshot.claim([page.pk], worker.pk)
    monkeypatch.setattr(timezone, "now", lambda: right() + timedelta(hours=hours))
    assert reclaim_elsewhere() == close_silent_machines() == 0
    record_heartbeat()
    assert Snapshot.objects.all().renew(worker.pk) == 1
    monkeypatch.undo()
    assert reclaim_elsewhere() == 0
    assert abs(Machine.current().seen_at - right()) < timedelta(minutes=10)
    Snapshot.objects.update(retry_at=right() - timedelta(seconds=1))
    assert reclaim_elsewhere() == 1


def test_items_of_a_worker_without_a_row_are_reclaimed_when_their_lease_is_over() -> None:
    page = leased(snapshot(), Process(pk=new_id()))
    assert reclaim_elsewhere() == 0
    Snapshot.objects.filter(pk=page.pk).update(retry_at=timezone.now() - timedelta(seconds=1))
    assert reclaim_elsewhere() == 1


def test_what_a_living_worker_of_ours_holds_is_left_to_it() -> None:
    worker = Process.objects.create(machine=Machine.current(), status="running")
    page = leased(snapshot(), worker)
    Snapshot.objects.filter(pk=page.pk).update(retry_at=timezone.now() - timedelta(seconds=1))
    assert reclaim_elsewhere() == 0
