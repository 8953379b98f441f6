import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.core.models import Snapshot
from archivebox.crawls.control import cancel
from archivebox.crawls.models import Crawl, CrawlRun, Domain
from archivebox.machine.models import Machine
from archivebox.workers.queue import claim, due
from archivebox.workers.queue.claim import Capacity, FetchRequest, claim_work
from archivebox.workers.queue.due import Cursor, next_wanted
from archivebox.workers.queue.hosts import BlockedHosts, blocked_hosts
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.ticks import tick, tick_crawls
from tests.factories import crawl, leased, row, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
SEALED = {"status": "sealed", "retry_at": None}
NONE = BlockedHosts(set(), set())


def ready(crawl: Crawl) -> Crawl:
    """The crawl started, and its run on this machine up."""
    tick(Crawl.objects.get(pk=crawl.pk))
    run = CrawlRun.of(crawl.pk, Machine.current().pk)
    arrange(CrawlRun.objects.filter(pk=run.pk), status="started", ready_at=timezone.now(), retry_at=None)
    return Crawl.objects.get(pk=crawl.pk)


def urls(claimed: claim.Claimed) -> list[str]:
    keys = [lease.pk for lease in claimed.snapshots]
    found = dict(Snapshot.objects.filter(pk__in=keys).values_list("pk", "url"))
    return [found[key] for key in keys]


def look(
    cursor: Cursor | None = None,
    capacity: int = 4,
    crawls: int = 4,
    retries: int = 1,
    machine: Machine | None = None,
) -> claim.Claimed:
    machine = machine or Machine.current()
    room = Capacity(capacity, retries, crawls, crawls)
    return claim_work(FetchRequest(new_id(), machine.pk, room, cursor or Cursor()))


class TestTake:
    def test_snapshots_wait_for_the_run_of_their_crawl(self) -> None:
        one = crawl()
        claimed = look()
        assert [lease.model for lease in claimed.crawl_runs] == [CrawlRun]
        assert not claimed.snapshots
        assert not look().snapshots  # held, not ready yet
        CrawlRun.objects.filter(crawl=one).update(ready_at=timezone.now())
        assert urls(look()) == ["https://example.com/"]

    def test_no_more_crawls_are_opened_than_there_is_room_and_one_waits_for_its_turn(self) -> None:
        for host in "abcd":
            crawl(f"https://{host}.example/")
        claimed = look(crawls=2)
        assert (len(claimed.crawl_runs), claimed.crawls_wait) == (2, True)
        assert CrawlRun.objects.count() == 3
        claimed = look(crawls=0)
        assert (len(claimed.crawl_runs), claimed.crawls_wait) == (0, True)
        assert claimed.next_at is None, "what waits for room is no reason to look again and again"
        assert len(look(crawls=4).crawl_runs) == 2

    def test_crawls_that_wait_for_room_are_asked_nothing_however_many_they_are(self) -> None:
        ready(crawl("https://busy.example/"))
        questions = []
        for _ in range(2):
            for _ in range(3):
                tick(crawl())
            look(crawls=0)  # from then on one waits in the queue
            with CaptureQueriesContext(connection) as asked:
                claimed = look(crawls=0)
            assert (claimed.crawls_wait, claimed.more) == (True, False)
            questions.append(len(asked))
        assert questions[0] == questions[1]

    def test_one_page_of_each_host_at_a_look_and_no_more_than_there_is_room(self) -> None:
        ready(crawl(*(f"https://{host}.example/{page}" for host in "abcd" for page in (1, 2))))
        cursor = Cursor()
        first = urls(look(cursor, capacity=3))
        assert [url.split("/")[2] for url in first] == ["a.example", "b.example", "c.example"]
        assert [url.split("/")[2] for url in urls(look(cursor, capacity=3))] == ["d.example"]
        assert len(urls(look(cursor, capacity=8))) == 4
        assert urls(look(cursor, capacity=8)) == []

    def test_the_longest_waiting_page_of_a_host_comes_first(self) -> None:
        one = ready(crawl("https://example.com/1", "https://example.com/2"))
        Snapshot.objects.filter(url__endswith="/2").update(retry_at=timezone.now() - timedelta(hours=1))
        assert urls(look(capacity=1)) == ["https://example.com/2"]
        assert one.snapshot_set.filter(owner__isnull=True).count() == 1

    def test_a_fresh_page_of_a_host_comes_before_what_is_tried_again(self) -> None:
        one = ready(crawl(*(f"https://a.example/{number}" for number in range(3)), "https://b.example/"))
        tried = one.snapshot_set.exclude(url="https://a.example/2")
        arrange(tried, status="sealed", retry_at=timezone.now() - timedelta(hours=1))
        cursor = Cursor()
        assert urls(look(cursor, capacity=2)) == ["https://a.example/2", "https://b.example/"]
        assert urls(look(cursor, retries=0)) == []
        assert len(urls(look(cursor, retries=1))) == 1

    def test_a_crawl_of_which_no_page_is_at_work_has_one_taken_whatever_room_there_is(self) -> None:
        old = ready(crawl(*(f"https://{host}.example/" for host in "abc")))
        CrawlRun.objects.filter(crawl=old).update(owner=new_id())
        assert len(urls(look(capacity=1))) == 1
        new = ready(crawl("https://new.example/1", "https://new2.example/2"))
        CrawlRun.objects.filter(crawl=new).update(owner=new_id())
        assert [url.partition(".")[0] for url in urls(look(capacity=0))] == ["https://new"]
        assert urls(look(capacity=0)) == []

    def test_interrupted_pages_beyond_the_room_leave_what_is_due_again_its_room(self) -> None:
        old = ready(crawl(*(f"https://{host}.example/" for host in "ab")))
        for page in old.snapshot_set.all():
            row(process_type="hook", status="running", snapshot_id=page.pk, crawl_id=old.pk)
        sealed = ready(crawl("https://again.example/"))
        arrange(sealed.snapshot_set.all(), status="sealed", retry_at=timezone.now() - timedelta(hours=1))
        assert len(urls(look(capacity=0, retries=2))) == 3

    def test_crawls_with_nothing_but_retries_leave_room_for_others(self) -> None:
        old = [crawl(f"https://{host}.example/") for host in "abc"]
        for one in old:
            tick(Crawl.objects.get(pk=one.pk))
        arrange(Snapshot.objects.all(), status="sealed", retry_at=timezone.now() - timedelta(hours=1))
        room = Capacity(4, 1, 2, 1)
        claimed = claim_work(FetchRequest(new_id(), Machine.current().pk, room, Cursor()))
        assert (len(claimed.crawl_runs), claimed.crawls_wait) == (1, True)
        new = crawl("https://new.example/")
        room = Capacity(4, 1, 1, 0)
        claimed = claim_work(FetchRequest(new_id(), Machine.current().pk, room, Cursor()))
        assert [CrawlRun.objects.get(pk=lease.pk).crawl_id for lease in claimed.crawl_runs] == [new.pk]

    def test_crawls_and_users_take_turns(self) -> None:
        anna, ben = (User.objects.create(username=name) for name in ("anna", "ben"))
        for name in ("a1", "a2", "a3"):
            ready(crawl(f"https://{name}.example/", f"https://{name}x.example/", user=anna))
        ready(crawl("https://b1.example/", "https://b1x.example/", user=ben))
        cursor = Cursor()
        hosts = [urls(look(cursor, capacity=1))[0].split("/")[2] for _ in range(4)]
        assert hosts == ["a1.example", "b1.example", "a2.example", "a3.example"]

    def test_a_crawl_that_is_paused_or_asked_to_stop_gives_nothing(self) -> None:
        one = ready(crawl())
        Crawl.objects.filter(pk=one.pk).update(request="pause", owner=new_id())
        assert not look().snapshots
        arrange(Crawl.objects.filter(pk=one.pk), request="", owner=None, status="paused")
        assert not look().snapshots

    def test_a_machine_takes_only_its_own_runs_and_programs(self) -> None:
        one = ready(crawl())
        other = Machine.objects.create(hostname="other")
        run = CrawlRun.of(one.pk, other.pk)
        assert look().crawl_runs == []
        claimed = look(machine=other)
        assert [lease.pk for lease in claimed.crawl_runs] == [run.pk]

    def test_an_idle_worker_knows_when_to_look_again(self) -> None:
        assert next_wanted(Machine.current().pk, timezone.now()) is None
        later = timezone.now() + timedelta(minutes=7)
        ready(crawl())
        Snapshot.objects.update(retry_at=later)
        assert look().next_at == later

    @pytest.mark.parametrize("is_sealed", [False, True], ids=["never begun", "to be retried"])
    def test_idle_workers_of_all_machines_wake_within_5_s_of_delayed_work(self, is_sealed: bool) -> None:
        """By what each is told, until when it sleeps at most: the clock of a busy machine says nothing of that."""
        ready(crawl())
        due_at = timezone.now() + timedelta(minutes=7)
        arrange(Snapshot.objects.all(), status="sealed" if is_sealed else "queued", retry_at=due_at)
        for machine in (Machine.current(), Machine.objects.create(hostname="other")):
            arrange(CrawlRun.objects.filter(machine=machine), retry_at=None)
            told = look(machine=machine).next_at
            assert told is not None
            assert due_at <= told <= due_at + timedelta(seconds=5)


class TestHosts:
    def test_as_many_pages_of_a_host_as_allowed(self) -> None:
        ready(crawl(*(f"https://example.com/{page}" for page in range(6))))
        cursor = Cursor()
        assert sum(len(urls(look(cursor))) for _ in range(8)) == 4
        assert blocked_hosts() == ({"example.com"}, {"example.com"})

    def test_a_host_of_two_crawls_is_one_host(self) -> None:
        Domain.objects.create(name="example.com", max_parallel=1)
        ready(crawl("https://example.com/1"))
        ready(crawl("https://example.com/2"))
        assert len(urls(look(Cursor()))) == 1

    def test_a_fresh_page_waits_for_no_page_of_its_host_that_is_tried_again(self) -> None:
        Domain.objects.create(name="example.com", max_parallel=1)
        ready(crawl("https://example.com/1", "https://example.com/2"))
        arrange(Snapshot.objects.all(), status="sealed", sealed_at=timezone.now())
        assert len(look().snapshots) == 1, "as many of these as allowed"
        arrange(Snapshot.objects.filter(owner__isnull=False), status="started")
        assert not look().snapshots
        ready(crawl("https://example.com/fresh"))
        assert urls(look()) == ["https://example.com/fresh"]
        ready(crawl("https://example.com/fresh/2"))
        assert not look().snapshots, "fresh pages wait for each other"

    def test_the_delay_of_a_host_is_kept(self) -> None:
        Domain.objects.create(name="example.com", delay=60.0)
        ready(crawl("https://example.com/1", "https://example.com/2"))
        cursor = Cursor()
        assert len(urls(look(cursor))) == 1
        after = look(cursor)
        assert after.snapshots == []
        assert after.next_at is not None
        assert after.next_at > timezone.now() + timedelta(seconds=30)

    def test_a_host_that_wished_to_be_left_alone_is_asked_for_nothing_until_then(self) -> None:
        """RFC 9110, 10.2.3; a shorter wish that comes later does not end a longer one."""
        one = ready(crawl("https://example.com/1", "https://example.com/2"))
        page = one.snapshot_set.get(url="https://example.com/1")
        for seconds in (600, 5, 0):
            page.patch({"id": str(page.pk), "retry_after": seconds})
        after = look(Cursor())
        assert after.snapshots == []
        assert after.next_at is not None
        assert after.next_at > timezone.now() + timedelta(minutes=9)

    def test_a_blocked_host_does_not_hide_the_others(self) -> None:
        one = ready(crawl("https://a.example/", "https://b.example/"))
        assert (
            len(
                due.due(
                    one.pk,
                    NONE._replace(for_fresh={"a.example"}, for_retries={"a.example"}),
                    due.Allowance(4),
                    Cursor(),
                )
            )
            == 1
        )

    @pytest.mark.parametrize("start", ["", "host-050.example", "zzz"])
    def test_hosts_whose_pages_wait_do_not_hide_those_behind_them(self, start: str) -> None:
        """More hosts in back-off than one scan goes through, before and behind the one that is due."""
        one = ready(crawl(*(f"https://host-{number:03}.example/" for number in range(100))))
        later = timezone.now() + timedelta(hours=1)
        one.snapshot_set.exclude(domain="host-045.example").update(retry_at=later)
        cursor = Cursor(host={one.pk: start})
        (page,) = due.due(one.pk, NONE, due.Allowance(4), cursor)
        assert Snapshot.objects.get(pk=page.key).domain == "host-045.example"
        one.snapshot_set.update(retry_at=later)
        assert due.due(one.pk, NONE, due.Allowance(4), cursor) == []

    def test_every_host_has_its_turn(self) -> None:
        one = ready(crawl(*(f"https://host-{number:03}.example/{page}" for number in range(70) for page in (1, 2))))
        cursor, polled = Cursor(), list[str]()
        for _ in range(40):
            keys = [page.key for page in due.due(one.pk, NONE, due.Allowance(4), cursor)]
            polled += Snapshot.objects.filter(pk__in=keys).values_list("domain", flat=True)
            Snapshot.objects.filter(pk__in=keys).update(retry_at=None)
        assert len(polled) == 140
        assert len(set(polled[:70])) == 70


class TestPlans:
    """The queue is read by its partial indexes, on both databases."""

    def plan(self, query: str, parameters: Any) -> str:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("ANALYZE core_snapshot")
                cursor.execute(f"EXPLAIN {query}", parameters)
                return "\n".join(row[0] for row in cursor.fetchall())
            cursor.execute("ANALYZE")
            cursor.execute(f"EXPLAIN QUERY PLAN {query}", parameters)
            return "\n".join(row[3] for row in cursor.fetchall())

    def test_due_scans_no_table(self) -> None:
        one = ready(crawl(*(f"https://host-{number % 50}.example/{number}" for number in range(3000))))
        ready(crawl("https://other.example/"))
        key = Snapshot._meta.pk.get_db_prep_value(one.pk, connection)
        now = Snapshot._meta.get_field("retry_at").get_db_prep_value(timezone.now(), connection)
        plan = self.plan(due._DUE, [key, "", key, now, key, 32, key, now])
        assert "snapshot_due" in plan
        assert "Seq Scan on core_snapshot" not in plan
        assert "SCAN core_snapshot" not in plan.replace("SCAN core_snapshot USING", "")

    def test_no_look_scans_the_snapshots(self) -> None:
        """Every statement of one look, as the database would carry it out."""
        ready(crawl(*(f"https://host-{number % 50}.example/{number}" for number in range(3000))))
        statements: list[tuple[str, Any]] = []

        def note(execute, sql, params, many, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            statements.append((sql, params))
            return execute(sql, params, many, context)

        with connection.execute_wrapper(note):
            look()
        reads = [
            one for one in statements if one[0].lstrip().startswith(("SELECT", "WITH")) and "core_snapshot" in one[0]
        ]
        assert reads
        for sql, params in reads:
            plan = self.plan(sql, list(params or ()))
            assert "Seq Scan on core_snapshot" not in plan, sql
            assert not any(line == "SCAN core_snapshot" for line in plan.splitlines()), sql


class TestTick:
    def state(self, one: Crawl) -> tuple[str, object]:
        row = Crawl.objects.get(pk=one.pk)
        return row.status, row.retry_at

    def test_a_new_crawl_starts_and_wants_no_more_looks(self) -> None:
        one = crawl()
        tick_crawls()
        assert self.state(one) == ("started", None)

    def test_it_is_sealed_when_nothing_is_unsealed(self) -> None:
        one = ready(crawl("https://example.com/1", "https://example.com/2"))
        arrange(one.snapshot_set.filter(url__endswith="1"), **SEALED)
        one.wake()
        tick_crawls()
        assert self.state(one) == ("started", None)
        arrange(one.snapshot_set.all(), **SEALED)
        one.wake()
        tick_crawls()
        assert self.state(one) == ("started", None)  # its run is up still
        arrange(one.crawlrun_set.all(), **SEALED)
        one.wake()
        tick_crawls()
        assert self.state(one) == ("sealed", None)
        assert not one.has_pending_children()

    def test_it_is_reopened_by_a_back_off_of_its_snapshots(self) -> None:
        one = ready(crawl())
        later = timezone.now() + timedelta(minutes=5)
        arrange(one.snapshot_set.all(), status="sealed", retry_at=later)
        arrange(one.crawlrun_set.all(), **SEALED)
        one.wake()
        tick_crawls()
        assert self.state(one) == ("sealed", later)
        one.snapshot_set.update(retry_at=timezone.now())
        Crawl.objects.filter(pk=one.pk).update(retry_at=timezone.now())
        tick_crawls()
        assert self.state(one) == ("started", None)
        assert one.snapshot_set.get().status == "sealed"  # who leases it reopens it

    def test_a_paused_crawl_wants_nothing(self) -> None:
        one = ready(crawl())
        arrange(Crawl.objects.filter(pk=one.pk), status="paused", retry_at=timezone.now())
        tick_crawls()
        assert self.state(one) == ("paused", None)

    def test_a_cancelled_crawl_takes_its_snapshots_a_thousand_at_a_time(self) -> None:
        one = ready(crawl(*(f"https://example.com/{number}" for number in range(1500))))
        sealed = one.snapshot_set.order_by("id").first()
        assert sealed is not None
        arrange(Snapshot.objects.filter(pk=sealed.pk), **SEALED)
        assert cancel(one)
        tick_crawls()
        assert one.snapshot_set.filter(status="cancelled").count() == 1000
        assert self.state(one)[1] is not None
        tick_crawls()
        assert one.snapshot_set.filter(status="cancelled", retry_at=None, reason="cancelled").count() == 1499
        assert one.snapshot_set.get(pk=sealed.pk).status == "sealed"
        assert self.state(one) == ("cancelled", None)

    def test_it_looks_again_at_what_is_held_but_not_in_a_circle(self) -> None:
        one = ready(crawl())
        held = leased(one.snapshot_set.get())
        assert cancel(one)
        tick_crawls()
        status, again = self.state(one)
        assert status == "cancelled"
        assert again is not None
        assert again > timezone.now()  # type: ignore[operator]
        assert held.owner is not None
        Snapshot.objects.all().reclaim(held.owner)
        Crawl.objects.update(retry_at=timezone.now())
        tick_crawls()
        assert one.snapshot_set.get().status == "cancelled"


class TestRenew:
    def test_lost_leases_are_told(self) -> None:
        worker = new_id()
        leases = claim.claim(Snapshot, [snapshot(f"https://example.com/{n}").pk for n in range(3)], worker)
        assert len(leases) == 3
        Snapshot.objects.filter(pk=leases[0].pk).update(owner=None)
        Snapshot.objects.filter(pk=leases[1].pk).update(fence=9)
        assert claim.renew(leases) == set(leases[:2])


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("transactional_db")
def test_of_many_who_lease_at_once_one_has_it() -> None:
    """Threads with connections of their own; each row goes to exactly one, and no fence is used twice."""
    one = crawl(*(f"https://example.com/{number}" for number in range(40)))
    keys = list(one.snapshot_set.values_list("pk", flat=True))
    claimed: dict[int, list[Lease]] = {}
    barrier = threading.Barrier(4)

    def lease(number: int) -> None:
        worker = new_id()
        barrier.wait()
        try:
            claimed[number] = [
                lease for at in range(0, 40, 5) for lease in claim.claim(Snapshot, keys[at : at + 5], worker)
            ]
        finally:
            connections.close_all()

    threads = [threading.Thread(target=lease, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = [lease.pk for leases in claimed.values() for lease in leases]
    assert sorted(every) == sorted(keys)
    assert set(one.snapshot_set.values_list("fence", flat=True)) == {1}


@pytest.mark.database
@pytest.mark.usefixtures("transactional_db")
def test_workers_that_claim_at_once_begin_no_more_pages_of_a_host_than_allowed() -> None:
    """Each of another machine: in every round there is room for one page of the host, and all see it."""
    Domain.objects.create(name="example.com", max_parallel=1)
    machines = [Machine.objects.create() for _ in range(4)]
    for number in range(4):
        one = ready(crawl(*(f"https://example.com/{number}/{page}" for page in range(10))))
        for machine in machines:
            run = CrawlRun.of(one.pk, machine.pk)
            arrange(CrawlRun.objects.filter(pk=run.pk), status="started", ready_at=timezone.now(), retry_at=None)
    for _ in range(10):
        claimed = [key for found in at_once(4, lambda number: urls(look(machine=machines[number]))) for key in found]
        assert len(claimed) == 1
        arrange(Snapshot.objects.filter(owner__isnull=False), status="sealed", owner=None, retry_at=None)


def at_once(count: int, work: Callable[[int], list[str]]) -> list[list[str]]:
    """What it returns when so many do it in the same moment, each with a connection of its own."""
    barrier = threading.Barrier(count)

    def begin(number: int) -> list[str]:
        barrier.wait()
        try:
            return work(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))
