import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.base_models.users import system_user
from archivebox.core.crawl_control.retry import retry_missing
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl, CrawlRun, CrawlSchedule, Domain
from archivebox.jobs.models import Job
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import ExitJournal, ExitStatus, ProcessIdentity, SpawnLog, mark_environment
from archivebox.lib.system_calls import hold
from archivebox.machine.models import Machine, Process
from archivebox.storage.layout import DataFolder
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import MAX_DEATH_WEIGHT, quarantine
from archivebox.workers.queue.reclaim import (
    WEIGHT_ALONE,
    abandoned,
    close_orphaned_programs,
    end_impossible_waits,
    reclaim,
    reclaim_dead_workers,
)
from archivebox.workers.supervise.recovery import recover_machine
from tests.factories import leased, row, shell, snapshot
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")


def dead(**fields: Any) -> Process:
    """A RUNNING row whose process is gone."""
    gone = row(**fields)
    gone.set_identity(ProcessIdentity.current()._replace(start_ticks=1))
    gone.save()
    return gone


def again(process: Process) -> Process:
    return Process.objects.get(pk=process.pk)


@contextmanager
def sleeper(folder: DataFolder, process_id: object) -> Iterator[ProcessIdentity]:
    """A live process that bears the mark of ``process_id``."""
    env = os.environ | mark_environment(str(process_id), folder.root)
    body = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", body], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as popen:
        assert popen.stdout is not None
        popen.stdout.readline()  # Popen returns while execve(2) still goes on, when no mark is to be seen
        identity = ProcessIdentity.of(popen.pid)
        assert identity is not None
        yield identity
        popen.kill()


class TestReclaim:
    def test_a_worker_whose_lock_is_cleared_away_as_it_begins_holds_another(
        self, collection: DataFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else nobody would find what it holds after its death."""
        flock, others = fcntl.flock, [reclaim_dead_workers]

        def after_others(descriptor: int, how: int) -> None:
            if others:
                others.pop()()
            flock(descriptor, how)

        collection.workers.mkdir(parents=True, exist_ok=True)
        path = collection.worker_lock(new_id())
        monkeypatch.setattr(fcntl, "flock", after_others)
        held = hold(path)
        assert path.exists()
        with abandoned(path) as dead:
            assert not dead
        os.close(held)
        with abandoned(path) as dead:
            assert dead

    def test_everything_of_a_dead_worker_comes_back(self, collection: DataFolder) -> None:
        worker = dead(process_type="worker")
        page = leased(snapshot(), worker)
        page.transition("start")
        run = CrawlRun.of(page.crawl_id, Machine.current().pk)
        CrawlRun.claim([run.pk], worker.pk)
        finished = dead(process_type="hook", parent=worker, snapshot_id=page.pk)
        lost = dead(process_type="hook", parent=worker, snapshot_id=page.pk, pid=None)
        Process.objects.filter(pk=lost.pk).update(start_ticks=2)
        assert finished.identity is not None
        ExitJournal(collection.exits).write(finished.identity, ExitStatus(0, 1.0, 0.5, 1000))
        assert reclaim(worker.pk) == 2
        free = Snapshot.objects.get(pk=page.pk)
        assert (free.owner, free.status, free.attempts) == (None, "started", 1)
        assert CrawlRun.objects.get(pk=run.pk).owner is None
        assert (again(finished).exit_code, again(finished).end_reason) == (0, "exited")
        assert (again(lost).exit_code, again(lost).end_reason) == (None, "lost")
        assert again(worker).status == "exited"

    def test_twice_changes_nothing(self) -> None:
        worker = dead(process_type="worker")
        page = leased(snapshot(), worker)
        assert reclaim(worker.pk) == 1
        before = [dict(one) for model in (Snapshot, Process) for one in model.objects.values()]
        assert reclaim(worker.pk) == 0
        assert before == [dict(one) for model in (Snapshot, Process) for one in model.objects.values()]
        assert Snapshot.objects.get(pk=page.pk).attempts == 1

    def test_a_death_counts_more_where_the_orchestrator_lives_on(self) -> None:
        workers = [dead(process_type="worker", parent=parent) for parent in (Process.current(), dead())]
        pages = [leased(snapshot(f"https://{n}.example/"), worker) for n, worker in enumerate(workers)]
        for worker in workers:
            reclaim(worker.pk)
        assert [Snapshot.objects.get(pk=page.pk).attempts for page in pages] == [WEIGHT_ALONE, 1]

    def test_live_hooks_stay_running_for_their_adopter(self, collection: DataFolder) -> None:
        worker = dead(process_type="worker")
        key = new_id()
        with sleeper(collection, key) as identity:
            hook = Process(pk=key, machine=Machine.current(), process_type="hook", parent=worker)
            hook.set_identity(identity)
            hook.save(force_insert=True)
            reclaim(worker.pk)
            assert again(hook).status == "running"

    def test_an_end_that_is_journalled_while_it_is_looked_for_is_not_lost(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who reaps the hook writes its record, and then reaps it, just after the journal was read."""
        worker, read = dead(process_type="worker"), ExitJournal.read
        popen = subprocess.Popen(["sh", "-c", "exit 7"])
        os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
        hook = row(process_type="hook", parent=worker)
        identity = ProcessIdentity.of(popen.pid)
        assert identity is not None
        hook.set_identity(identity)
        hook.save()

        def just_before(journal: ExitJournal, wanted: ProcessIdentity) -> ExitStatus | None:
            seen = read(journal, wanted)
            if wanted == identity and popen.returncode is None:
                journal.write(identity, ExitStatus(7, 1.0, 0.5, 1000))
                popen.wait()
            return seen

        monkeypatch.setattr(ExitJournal, "read", just_before)
        reclaim(worker.pk)
        assert again(hook).status == "running", "its adopter finds the record"
        Process.objects.filter(pk=hook.pk).close()
        assert (again(hook).exit_code, again(hook).end_reason) == (7, "exited")

    def test_a_hook_that_was_started_ahead_is_its_crawls_where_the_log_says_so(self, collection: DataFolder) -> None:
        worker = dead(process_type="worker")
        warm, told, crawl = new_id(), new_id(), new_id()
        log = SpawnLog(collection.spawn_log(worker.pk))
        for key in (warm, told):
            row(id=key, process_type="worker", worker_type="warm", pwd="/warm/chrome")
        waiting: dict[str, JSON] = {"process_type": "worker", "worker_type": "warm", "pwd": "/warm/chrome"}
        log.intent(str(warm), waiting)
        log.intent(str(told), waiting)
        log.intent(str(told), {"process_type": "hook", "worker_type": "", "pwd": "/x/chrome", "crawl_id": str(crawl)})
        log.close()
        reclaim(worker.pk)
        found = {one.pk: (one.process_type, one.kind, one.pwd, one.crawl_id) for one in Process.objects.all()}
        assert found[warm] == ("worker", "warm", "/warm/chrome", None)
        assert found[told] == ("hook", "hook", "/x/chrome", crawl)

    def test_a_spawn_log_torn_in_the_middle_becomes_rows(self, collection: DataFolder) -> None:
        worker = dead(process_type="worker")
        page = leased(snapshot(), worker)
        alive, unmarked, never, known = (new_id() for _ in range(4))
        columns: dict[str, JSON] = {
            "process_type": "hook",
            "cmd": ["wget"],
            "snapshot_id": str(page.pk),
            "pwd": "/x",
            "no_such_column": 1,
        }
        log = SpawnLog(collection.spawn_log(worker.pk))
        row(id=known, cmd=["committed"])
        with sleeper(collection, alive) as first, sleeper(collection, unmarked) as second:
            log.intent(str(alive), columns)
            log.started(str(alive), first)
            log.intent(str(known), columns)
            log.intent(str(unmarked), columns)  # its started line is torn; its mark tells who it is
            log.intent(str(never), columns)
            log.close()
            path = collection.spawn_log(worker.pk)
            with path.open("ab") as file:
                file.write(b'\n{"started":"' + str(unmarked).encode()[:20])
            reclaim(worker.pk)
            found = {one.pk: one for one in Process.objects.filter(cmd=["wget"])}
            assert set(found) == {alive, unmarked, never}
            assert (found[alive].identity, found[alive].status) == (first, "running")
            assert (found[unmarked].identity, found[unmarked].status) == (second, "running")
        assert (found[never].status, found[never].end_reason, found[never].exit_code) == ("exited", "lost", None)
        assert all(one.parent_id == worker.pk and one.snapshot_id == page.pk for one in found.values())
        assert Process.objects.get(pk=known).cmd == ["committed"]
        assert not path.exists()

    def test_a_worker_that_holds_its_lock_is_left_alone(self, collection: DataFolder) -> None:
        worker = row(process_type="worker", status="running")
        page = leased(snapshot(), worker)
        with collection.worker_lock(worker.pk).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert reclaim_dead_workers() == 0
            assert Snapshot.objects.get(pk=page.pk).owner == worker.pk
        assert reclaim_dead_workers() == 1
        assert Snapshot.objects.get(pk=page.pk).owner is None
        assert not collection.worker_lock(worker.pk).exists()

    def test_the_reapers_word_is_not_overwritten(self) -> None:
        """A row that was committed between the look at the rows and the look at the process."""
        worker = dead(process_type="worker")
        hook = dead(process_type="hook", parent=worker)
        arrange(Process.objects.filter(pk=hook.pk), status="exited", exit_code=4, end_reason="exited")
        reclaim(worker.pk)
        assert again(hook).exit_code == 4


class TestSweep:
    def test_leases_without_a_worker_return_and_twice_changes_nothing(self) -> None:
        vanished = leased(snapshot("https://example.com/1"))
        Process.objects.all().delete()  # not even its row is there
        known = leased(snapshot("https://example.com/2"), dead(process_type="worker"))
        recover_machine()
        assert set(Snapshot.objects.values_list("owner", flat=True)) == {None}
        before = list(Snapshot.objects.order_by("id").values())
        assert recover_machine() == 0
        assert before == list(Snapshot.objects.order_by("id").values())
        assert {vanished.pk, known.pk} == {one["id"] for one in before}

    def test_a_process_whose_starter_died_before_starting_it_does_not_stay_queued(self) -> None:
        orphan, early = row(dead(process_type="cli")), row()
        living = row(process_type="cli")
        living.set_identity(ProcessIdentity.current())
        living.save()
        child = row(living)
        recover_machine()
        assert {(again(one).status, again(one).end_reason) for one in (orphan, early)} == {("exited", "lost")}
        assert again(child).status == "queued"

    def test_a_living_worker_keeps_what_it_holds(self) -> None:
        worker = row(process_type="worker")
        worker.set_identity(ProcessIdentity.current())
        worker.save()
        page = leased(snapshot(), worker)
        recover_machine()
        assert Snapshot.objects.get(pk=page.pk).owner == worker.pk
        assert again(worker).status == "running"

    def test_strays_are_ended_and_hooks_of_open_work_are_not(self, collection: DataFolder) -> None:
        page = snapshot()
        arrange(Snapshot.objects.filter(pk=page.pk), status="started")
        wanted = shell("exec sleep 60")
        wanted.process_type, wanted.snapshot_id = "hook", page.pk
        wanted.launch(background=True)
        sealed = snapshot("https://example.com/sealed")
        arrange(Snapshot.objects.filter(pk=sealed.pk), status="sealed", retry_at=None)
        stray = shell("exec sleep 60")
        stray.process_type, stray.snapshot_id = "hook", sealed.pk
        stray.launch(background=True)
        recover_machine()
        assert wanted.is_running
        assert stray.wait(30) == -15
        assert collection.exits.is_dir()

    def test_files_whose_owner_was_killed_go_and_those_of_the_living_stay(self, collection: DataFolder) -> None:
        living, ended = row(process_type="hook", crawl_id=new_id()), dead(process_type="orchestrator")
        living.set_identity(ProcessIdentity.current())
        living.save()
        job = Job.objects.create(kind="export", created_by=system_user())
        kept = {
            collection.crawl_port(living.crawl_id),
            collection.process_log("worker", living.pk, "stderr"),
            collection.process_log("orchestrator", ended.pk, "stdout"),  # longer than what its row has of it
            collection.exports / f"{job.pk}.part.pages",
        }
        left = {
            collection.crawl_port(new_id()),
            collection.process_log("orchestrator", ended.pk, "stderr"),
            collection.process_log("orchestrator", new_id(), "stdout"),
            collection.exits / ".12-34.json.abc.tmp",
            collection.exports / f"{new_id()}.part",
        }
        for path in kept | left:
            path.parent.mkdir(exist_ok=True)
            path.write_text("last words" if path.name.endswith("stderr.log") else "x" * 3000)
            os.utime(path, (0, 0))
        recover_machine()
        assert {path for path in kept | left if path.exists()} == kept
        assert again(ended).stderr == "last words"


def test_nothing_waits_for_a_time_that_a_clock_ahead_has_written() -> None:
    ahead = timezone.now() + timedelta(days=365)
    page = snapshot()
    result = ArchiveResult.objects.create(snapshot=page, plugin="title", hook_name="on_Snapshot__54_title.py")
    arrange(ArchiveResult.objects.filter(pk=result.pk), status="backoff", retry_at=ahead)
    arrange(Snapshot.objects.filter(pk=page.pk), status="sealed", retry_at=ahead)
    slow, fast = Domain.objects.create(name="slow.test", delay=7200.0), Domain.objects.create(name="fast.test")
    Domain.objects.update(next_at=ahead)
    template = {"urls": ["https://example.com/"], "max_depth": 0, "tags": [], "persona": "", "config": {}}
    owner = system_user()
    made = [
        CrawlSchedule.objects.create(schedule=text, template=template, created_by=owner, next_at=ahead)
        for text in ("daily", "every 6 hours", "yearly")
    ]
    assert end_impossible_waits() == 7
    assert set(Domain.objects.values_list("next_at", flat=True)) == {None}
    assert ArchiveResult.objects.filter(retry_at__lte=timezone.now()).exists()
    assert Snapshot.objects.filter(retry_at__lte=timezone.now()).exists()
    for schedule, longest in zip(made, (timedelta(days=1), timedelta(hours=6)), strict=False):
        assert CrawlSchedule.objects.filter(pk=schedule.pk, next_at__lte=timezone.now() + longest).exists()
    Domain.objects.filter(pk=slow.pk).update(next_at=timezone.now() + timedelta(hours=1.5))
    Domain.objects.filter(pk=fast.pk).update(next_at=timezone.now() + timedelta(minutes=59))
    assert end_impossible_waits() == 0


class TestPutAside:
    def held(self, status: str, deaths: int) -> Snapshot:
        page = leased(snapshot())
        if status != "queued":
            page.transition("start")
            done = page.archiveresult_set.first()
            assert done is not None
            arrange(ArchiveResult.objects.filter(pk=done.pk), status="succeeded")
        if status == "sealed":
            page.transition("seal", retry_at=page.retry_at)
        Snapshot.objects.filter(pk=page.pk).update(attempts=deaths)
        return Snapshot.objects.get(pk=page.pk)

    @pytest.mark.parametrize("status", ["queued", "started", "sealed"])
    def test_what_killed_five_workers_is_sealed(self, status: str) -> None:
        page = self.held(status, MAX_DEATH_WEIGHT)
        Crawl.objects.update(retry_at=None)
        assert page.owner is not None
        assert quarantine(Lease(Snapshot, page.pk, page.owner, page.fence))
        sealed = Snapshot.objects.get(pk=page.pk)
        assert (sealed.status, sealed.reason, sealed.owner, sealed.retry_at) == ("sealed", "worker_lost", None, None)
        assert sealed.sealed_at is not None
        assert not sealed.has_pending_children()
        failed = sealed.archiveresult_set.filter(status="failed")
        assert set(failed.values_list("reason", "retry_at")) == {("worker_lost", None)}
        assert sealed.archiveresult_set.filter(status="succeeded").count() == (status != "queued")
        assert Crawl.objects.get(pk=page.crawl_id).retry_at is not None

    def test_fewer_deaths_are_no_reason(self) -> None:
        page = self.held("started", MAX_DEATH_WEIGHT - 1)
        assert page.owner is not None
        assert not quarantine(Lease(Snapshot, page.pk, page.owner, page.fence))
        assert Snapshot.objects.get(pk=page.pk).status == "started"

    def test_it_can_be_tried_again(self) -> None:
        page = self.held("started", MAX_DEATH_WEIGHT)
        assert page.owner is not None
        quarantine(Lease(Snapshot, page.pk, page.owner, page.fence))
        assert retry_missing(Snapshot.objects.filter(pk=page.pk)) > 0
        page = leased(Snapshot.objects.get(pk=page.pk))
        assert page.owner is not None
        assert not quarantine(Lease(Snapshot, page.pk, page.owner, page.fence))


def test_programs_whose_starter_was_killed_are_closed_once_they_are_gone(collection: DataFolder) -> None:
    """A worker's script starts a browser; both are killed, and the browser lives a moment longer."""
    kinds = Process.TypeChoices
    script = dead(process_type=kinds.BINARY, parent=dead(process_type=kinds.WORKER))
    browser, of_hook = (dead(process_type=kinds.BINARY, parent=script) for _ in range(2))
    Process.objects.filter(pk=of_hook.pk).update(parent=dead(process_type=kinds.HOOK))
    assert close_orphaned_programs() == 0, "their starters still run, as far as is known"
    Process.objects.exclude(process_type=kinds.BINARY).update(status="exited")
    with sleeper(collection, browser.pk) as identity:
        browser.set_identity(identity)
        browser.save()
        assert close_orphaned_programs() == 1
        assert again(script).status == "exited"
        assert close_orphaned_programs() == 0
    assert close_orphaned_programs() == 1
    assert (again(browser).status, again(of_hook).status) == ("exited", "running")
