"""A crawl is open on one machine, and on another where it has more pages than these begin."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl, CrawlRun, Domain
from archivebox.machine.models import Machine
from archivebox.workers.queue.claim import Capacity, Claimed, FetchRequest, claim_work
from archivebox.workers.queue.due import Cursor
from archivebox.workers.queue.placement import JOIN_AFTER, may_open
from archivebox.workers.queue.ticks import tick
from tests.factories import crawl
from tests.status_triggers import arrange

shared = pytest.mark.skipif(connection.vendor != "postgresql", reason="machines share no file")
pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]
WAITED = JOIN_AFTER + timedelta(seconds=1)


def look(machine: Machine, *, crawls: int = 4) -> Claimed:
    return claim_work(FetchRequest(new_id(), machine.pk, Capacity(4, 1, crawls, crawls), Cursor()))


def started(*urls: str) -> Crawl:
    made = crawl(*urls)
    tick(Crawl.objects.get(pk=made.pk))
    return Crawl.objects.get(pk=made.pk)


def open_on_another(work: Crawl) -> CrawlRun:
    """A worker of another machine holds its run."""
    run = CrawlRun.of(work.pk, Machine.objects.create().pk)
    arrange(CrawlRun.objects.filter(pk=run.pk), status="started", owner=new_id())
    CrawlRun.objects.filter(pk=run.pk).update(retry_at=timezone.now() + timedelta(seconds=30), ready_at=timezone.now())
    return run


def wait_a_while() -> None:
    Snapshot.objects.update(retry_at=timezone.now() - WAITED)


@shared
def test_a_crawl_that_is_open_elsewhere_is_left_there_for_the_time_being() -> None:
    work = started("https://a.example/", "https://b.example/")
    run, here = open_on_another(work), Machine.current()
    claimed = look(here)
    assert (claimed.crawl_runs, claimed.crawls_wait) == ([], False)
    assert claimed.next_at is not None
    assert claimed.next_at <= timezone.now() + JOIN_AFTER
    assert not CrawlRun.objects.filter(machine=here).exists()
    CrawlRun.objects.filter(pk=run.pk).update(retry_at=timezone.now() - timedelta(seconds=1))
    assert look(here).crawl_runs, "its lease there is over"


@shared
def test_a_machine_joins_where_more_pages_have_waited_than_machines_work_on_them() -> None:
    work = started("https://a.example/1", "https://a.example/2", "https://a.example/3")
    open_on_another(work)
    wait_a_while()
    assert may_open(work.pk, Machine.current().pk)
    open_on_another(work)
    assert may_open(work.pk, Machine.current().pk)
    open_on_another(work)
    assert not may_open(work.pk, Machine.current().pk), "as many machines as pages"


@shared
def test_nobody_joins_for_a_host_that_has_room_for_one_page_more() -> None:
    work = started("https://a.example/1", "https://a.example/2")
    Domain.objects.create(name="a.example", max_parallel=1)
    open_on_another(work)
    wait_a_while()
    assert not may_open(work.pk, Machine.current().pk)


@shared
def test_a_machine_that_drains_keeps_no_other_from_its_crawls() -> None:
    work = started()
    open_on_another(work).machine.drain(timedelta(hours=1))
    assert look(Machine.current()).crawl_runs


@shared
def test_a_run_that_waited_for_room_is_left_while_its_crawl_is_open_elsewhere() -> None:
    work, here = started(), Machine.current()
    assert look(here, crawls=0).crawls_wait
    run = open_on_another(work)
    assert not look(here).crawl_runs
    arrange(CrawlRun.objects.filter(pk=run.pk), status="sealed", owner=None, retry_at=None)
    assert look(here).crawl_runs, "somebody has to end it"


@shared
@pytest.mark.usefixtures("transactional_db")
def test_of_machines_that_are_woken_at_once_one_opens_the_crawl() -> None:
    machines = [Machine.objects.create() for _ in range(4)]
    for _ in range(5):
        started()
        barrier = threading.Barrier(len(machines))

        def opened(machine: Machine, barrier: threading.Barrier = barrier) -> int:
            barrier.wait()
            try:
                return len(look(machine).crawl_runs)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(len(machines)) as pool:
            assert sum(pool.map(opened, machines)) == 1
        Crawl.objects.all().delete()


@pytest.mark.skipif(connection.vendor == "postgresql", reason="machines may share a server")
def test_who_has_a_file_for_a_database_works_alone() -> None:
    work = started()
    open_on_another(work)
    assert may_open(work.pk, Machine.current().pk)
