from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from django.db import connection
from django.utils import timezone

from archivebox.base_models.rows import new_id
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import ExitJournal, ExitStatus, Identity
from archivebox.machine.models import Machine, Process
from archivebox.machine.process import TAIL, ProcessMachine, parse_time, read_tail
from archivebox.storage.layout import DataFolder
from tests.rows import LIMIT, process, python, row, shell

pytestmark = pytest.mark.usefixtures("collection")


def again(process: Process) -> Process:
    """The row as the database has it."""
    return Process.objects.get(pk=process.pk)


def wait_for(path: Path) -> str:
    """Content of a file that a process has yet to write."""
    deadline = time.monotonic() + LIMIT
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline, path
        time.sleep(0.01)
    return path.read_text()


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class TestLaunch:
    def test_foreground_is_on_record_with_its_end(self) -> None:
        done = shell("echo out; echo err >&2; exit 3").launch()
        kept = again(done)
        assert (kept.status, kept.exit_code, kept.end_reason) == ("exited", 3, "exited")
        assert (kept.stdout, kept.stderr, kept.stdout_size, kept.stderr_size) == ("out\n", "err\n", 4, 4)
        assert kept.started_at is not None
        assert kept.seconds is not None
        assert kept.seconds >= 0
        assert kept.max_rss
        assert kept.identity is not None
        assert kept.identity.boot_id == Identity.current().boot_id

    @pytest.mark.parametrize(
        ("script", "code", "reason"),
        [
            ("exit 0", 0, "exited"),
            ("exit 3", 3, "exited"),
            ("kill -KILL $$", -9, "signalled"),
            ("kill -TERM $$", -15, "signalled"),
        ],
    )
    def test_exit_codes_are_what_the_kernel_reported(self, script: str, code: int, reason: str) -> None:
        done = shell(script).launch()
        assert (again(done).exit_code, again(done).end_reason) == (code, reason)
        assert done.poll() == code
        assert done.wait() == code

    def test_background_returns_at_once_and_is_waited_for(self) -> None:
        running = shell("sleep 60 & wait").launch(background=True)
        assert again(running).status == "running"
        assert running.poll() is None
        assert running.is_running
        assert running.is_alive()
        assert running.terminate()
        assert running.poll() == -15
        assert not running.is_running

    def test_folder_is_made(self, collection: DataFolder) -> None:
        folder = collection.root / "users" / "a" / "b"
        done = shell("pwd", pwd=folder).launch()
        assert done.stdout.strip() == str(folder)

    def test_it_runs_in_a_session_of_its_own_without_input(self) -> None:
        done = python("import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()))").launch()
        assert done.stdout.split() == ["True", "''"]

    def test_foreground_timeout_ends_the_whole_tree(self, collection: DataFolder) -> None:
        note = collection.root / "child"
        done = shell(f"sleep 60 & echo $! > {note}; wait", timeout=1).launch()
        assert (again(done).end_reason, again(done).exit_code) == ("timeout", -15)
        assert gone(int(note.read_text()))

    def test_a_tree_that_ignores_term_is_killed(self, collection: DataFolder) -> None:
        note = collection.root / "child"
        running = shell(f"trap '' TERM; (trap '' TERM; echo up > {note}; sleep 60); sleep 60").launch(background=True)
        wait_for(note)
        assert running.terminate(grace=0.2)
        assert running.poll() == -9
        assert running.get_children_pids() == []

    def test_a_program_that_is_not_there_leaves_no_open_row(self) -> None:
        missing = process("/nowhere/program")
        with pytest.raises(FileNotFoundError):
            missing.launch()
        kept = again(missing)
        assert (kept.status, kept.exit_code, kept.end_reason) == ("exited", None, "lost")
        assert "/nowhere/program" in kept.stderr
        assert missing.poll() == -1

    def test_environment_has_the_mark_and_the_row_no_values(self, collection: DataFolder) -> None:
        told = shell("echo $ARCHIVEBOX_PROCESS_ID $DATA_DIR $SECRET")
        told.launch_env = {"SECRET": "hunter2", "PATH": os.environ["PATH"]}
        told.env = sorted(told.launch_env)
        told.launch()
        assert told.stdout.split() == [str(told.pk), str(collection.root), "hunter2"]
        kept = again(told)
        assert kept.env == ["PATH", "SECRET"]
        kept_columns = Process.objects.filter(pk=told.pk).values("cmd", "env", "pwd").get()
        assert "hunter2" not in json.dumps(kept_columns)

    def test_tails_tolerate_any_bytes(self) -> None:
        body = r"import sys; sys.stdout.buffer.write(b'\xff\x00' * 5000 + b'end\n'); sys.stderr.buffer.write(b'\x80')"
        kept = again(python(body).launch())
        assert kept.stdout_size == 10_004
        assert kept.stdout.endswith("end\n")
        assert len(kept.stdout) <= TAIL
        assert "\0" not in kept.stdout
        assert kept.stderr == "\ufffd"

    def test_files_of_a_hook_lie_beside_its_folder(self, collection: DataFolder) -> None:
        folder = collection.users / "x" / "plugin"
        name = "on_Snapshot__10_a.sh"
        done = process("/bin/sh", "-c", "echo hi", pwd=folder, hook_name=name).launch()
        assert done.stdout_file == collection.users / "x" / ".hooks" / f"{name}.{done.pk}.stdout.log"
        assert done.stdout_file.read_text() == "hi\n"
        files = (done.stderr_file, done.cmd_file, done.pid_file)
        assert [path.name.removeprefix(f"{name}.{done.pk}.") for path in files] == ["stderr.log", "cmd.sh", "pid"]
        assert list(folder.iterdir()) == []


class TestWaiting:
    def test_wait_raises_timeout_and_leaves_it_running(self) -> None:
        running = shell("sleep 60").launch(background=True)
        with pytest.raises(TimeoutError):
            running.wait(0.1)
        assert running.poll() is None

    def test_wait_without_a_limit_takes_the_rows(self) -> None:
        running = shell("sleep 60", timeout=1).launch(background=True)
        with pytest.raises(TimeoutError):
            running.wait()
        assert again(running).status == "running"

    def test_any_object_of_the_row_can_wait_and_end_it(self) -> None:
        running = shell("exec sleep 60").launch(background=True)
        other = again(running)
        assert other.poll() is None
        other.kill(signal.SIGKILL)
        assert other.wait(LIMIT) == -9
        assert again(running).exit_code == -9
        assert running.wait(LIMIT) == -9

    def test_the_end_of_a_stranger_is_waited_for(self) -> None:
        """A process that another one of ours started: its row is written by that one, before it reaps."""
        with subprocess.Popen(["/bin/sh", "-c", "read line"], stdin=subprocess.PIPE) as popen:
            known = row()
            identity = Identity.of(popen.pid)
            assert identity is not None
            known.take_identity(identity)
            known.save()
            with pytest.raises(TimeoutError):
                known.wait(0.1)
            popen.kill()
            popen.wait()
            assert known.wait(LIMIT) == -1
        kept = again(known)
        assert (kept.exit_code, kept.end_reason, kept.status) == (None, "lost", "exited")
        assert kept.poll() == -1

    def test_what_the_journal_of_exits_says_is_taken(self, collection: DataFolder) -> None:
        known = row()
        gone_long_ago = Identity.current()._replace(start_ticks=1)
        known.take_identity(gone_long_ago)
        known.save()
        ExitJournal(collection.exits).write(gone_long_ago, ExitStatus(7, 0.5, 0.25, 4096))
        assert known.poll() == 7
        assert (again(known).exit_code, again(known).user_seconds, again(known).max_rss) == (7, 0.5, 4096)

    def test_a_zombie_waits_for_its_reaper(self) -> None:
        with subprocess.Popen(["/bin/true"]) as popen:
            identity = Identity.of(popen.pid)
            assert identity is not None
            known = row()
            known.take_identity(identity)
            known.save()
            while not identity.is_zombie():
                time.sleep(0.01)
            assert known.poll() is None
            assert not known.is_running
            with pytest.raises(TimeoutError):
                known.wait(0.1)

    def test_the_reapers_word_is_not_overwritten(self) -> None:
        """Its row was committed after this object was read, before the process was reaped."""
        stale = row(pid=1)
        stale.take_identity(Identity.current()._replace(start_ticks=1))
        stale.save()
        Process.objects.filter(pk=stale.pk).update(status="exited", exit_code=0, end_reason="exited")
        assert stale.poll() == 0
        assert again(stale).exit_code == 0

    def test_a_queued_row_is_not_lost(self) -> None:
        queued = row()
        assert queued.poll() is None
        assert again(queued).status == "queued"
        assert not queued.is_running

    def test_a_process_of_another_machine_is_never_judged(self) -> None:
        other = Machine.objects.create(hostname="other")
        far = Process.objects.create(machine=other)
        far.take_identity(Identity.current()._replace(start_ticks=1))
        far.save()
        assert far.poll() is None
        assert far.proc is None
        assert not far.kill()
        assert not far.terminate()
        assert Process.cleanup_stale_running(other) == 0
        assert Process.cleanup_stale_running() == 0
        with pytest.raises(TimeoutError):
            far.wait(0.1)
        assert again(far).status == "running"


class TestEnding:
    def test_kill_signals_one_process_and_says_whether_it_is_gone(self, collection: DataFolder) -> None:
        note = collection.root / "told"
        running = shell(f"trap 'echo usr1 > {note}' USR1; echo up >&2; while :; do sleep 0.05; done").launch(
            background=True
        )
        wait_for(running.stderr_file)
        assert not running.kill(signal.SIGUSR1)
        assert wait_for(note) == "usr1\n"
        assert running.kill(signal.SIGKILL)
        assert running.poll() == -9

    def test_kill_tree_takes_the_children_too(self, collection: DataFolder) -> None:
        note = collection.root / "child"
        running = shell(f"setsid sleep 60 & echo $! > {note}; wait").launch(background=True)
        child = int(wait_for(note))
        assert child in running.get_children_pids()
        assert running.kill_tree()
        assert gone(child)
        assert running.poll() == -9

    def test_a_stranger_with_its_pid_is_never_signalled(self) -> None:
        with subprocess.Popen(["sleep", "60"]) as stranger:
            known = row()
            identity = Identity.of(stranger.pid)
            assert identity is not None
            known.take_identity(identity._replace(start_ticks=identity.start_ticks - 1))
            known.save()
            assert known.proc is None
            assert not known.is_running
            known.kill(signal.SIGKILL)
            known.kill_tree()
            assert stranger.poll() is None
            assert known.poll() == -1
            stranger.kill()

    def test_ending_twice_is_no_error(self) -> None:
        done = shell("exit 0").launch()
        assert done.kill()
        assert done.terminate()
        assert done.kill_tree()
        assert again(done).exit_code == 0


class TestTheOperatingSystem:
    def test_what_it_says_of_a_live_process(self) -> None:
        running = shell("sleep 60 & wait").launch(background=True)
        proc = running.proc
        assert proc is not None
        assert proc.pid == running.pid
        memory = running.get_memory_info()
        assert memory is not None
        assert set(memory) == {"rss", "vms"}
        assert memory["vms"] > 0
        assert running.get_cpu_percent() is not None
        while not (children := running.get_children_pids()):
            time.sleep(0.01)
        assert [psutil.Process(pid).name() for pid in children] == ["sleep"]

    def test_what_it_says_of_a_dead_one(self) -> None:
        done = shell("exit 0").launch()
        assert done.proc is None
        assert done.get_memory_info() is None
        assert done.get_cpu_percent() is None
        assert done.get_children_pids() == []
        assert not done.is_alive()

    def test_get_by_pid_is_exact(self) -> None:
        running = shell("exec sleep 60").launch(background=True)
        assert running.pid is not None
        assert running.start_ticks is not None
        found = Process.objects.get_by_pid(running.pid)
        assert found is not None
        assert found.pk == running.pk
        assert Process.objects.get_by_pid(running.pid, machine=Machine.objects.create()) is None
        Process.objects.filter(pk=running.pk).update(start_ticks=running.start_ticks - 1)
        assert Process.objects.get_by_pid(running.pid) is None  # a stranger has the pid now
        assert Process.objects.get_by_pid(2**22 + 1) is None


class TestStale:
    def test_only_rows_whose_process_is_gone_are_closed(self) -> None:
        old = timezone.now() - timedelta(days=400)
        running = shell("exec sleep 60").launch(background=True)
        Process.objects.filter(pk=running.pk).update(started_at=old)
        dead = row()
        dead.take_identity(Identity.current()._replace(start_ticks=1))
        dead.save()
        assert Process.cleanup_stale_running() == 1
        assert Process.cleanup_stale_running() == 0
        assert again(running).status == "running"
        assert (again(dead).status, again(dead).exit_code, again(dead).end_reason) == ("exited", None, "lost")
        assert again(dead).ended_at is not None

    def test_what_cannot_be_seen_from_here_is_not_judged(self) -> None:
        """A container works on the same data folder: its processes are of another pid namespace."""
        hidden = row()
        hidden.take_identity(Identity.current()._replace(pid_ns=1, start_ticks=1))
        hidden.save()
        assert Process.cleanup_stale_running() == 0
        assert hidden.poll() is None
        assert hidden.proc is None
        assert not hidden.kill()
        assert not hidden.terminate()
        assert again(hidden).status == "running"

    def test_the_journal_of_exits_knows_better_than_lost(self, collection: DataFolder) -> None:
        dead = row()
        dead.take_identity(Identity.current()._replace(start_ticks=1))
        dead.save()
        assert dead.identity is not None
        ExitJournal(collection.exits).write(dead.identity, ExitStatus(-9))
        assert Process.cleanup_stale_running() == 1
        assert (again(dead).exit_code, again(dead).end_reason) == (-9, "signalled")

    def test_a_row_of_another_boot_is_gone(self) -> None:
        old = row()
        old.take_identity(Identity.current()._replace(boot_id="another boot"))
        old.save()
        assert Process.cleanup_stale_running() == 1


class TestTree:
    def chain(self, length: int) -> list[Process]:
        rows = [row()]
        for _ in range(length - 1):
            rows.append(row(parent=rows[-1]))
        return rows

    def test_lineage(self) -> None:
        root, middle, leaf = self.chain(3)
        sibling = row(parent=middle)
        assert leaf.ancestors == [middle, root]
        assert leaf.root == root
        assert root.root == root
        assert [item.depth for item in (root, middle, leaf)] == [0, 1, 2]
        assert set(middle.children.all()) == {leaf, sibling}
        assert set(root.get_descendants()) == {middle, leaf, sibling}
        assert set(root.get_descendants(include_self=True)) == {root, middle, leaf, sibling}
        tree = root.get_tree()
        assert tree[:2] == [root, middle]
        assert set(tree[2:]) == {leaf, sibling}
        assert middle.get_tree()[0] == middle

    def test_one_query_each(self, django_assert_num_queries: object) -> None:
        *_, leaf = self.chain(10)
        with django_assert_num_queries(1):  # type: ignore[operator]
            assert len(leaf.ancestors) == 9
        with django_assert_num_queries(1):  # type: ignore[operator]
            assert len(leaf.get_tree()) == 1

    def test_a_missing_parent_ends_it(self) -> None:
        orphan = row()
        Process.objects.filter(pk=orphan.pk).update(parent_id=new_id())
        orphan.refresh_from_db()
        child = row(parent=orphan)
        assert child.ancestors == [orphan]
        assert child.root == orphan
        assert orphan.depth == 0

    def test_a_cycle_ends(self) -> None:
        first, second = self.chain(2)
        Process.objects.filter(pk=first.pk).update(parent_id=second.pk)
        assert again(second).ancestors == [first]
        assert set(again(second).get_descendants()) <= {first, second}
        assert {item.pk for item in again(first).get_tree()} == {first.pk, second.pk}
        assert len(again(first).get_tree()) == 2

    def test_depth_stops_at_64(self) -> None:
        rows = self.chain(70)
        assert rows[-1].depth == 64
        assert len(rows[0].get_tree()) == 65


class TestCurrent:
    def test_made_once_with_the_real_command_line(self) -> None:
        mine = Process.current()
        assert Process.current() is mine
        assert Process.objects.current() is mine
        assert Process.objects.count() == 1
        assert (mine.pid, mine.status) == (os.getpid(), "running")
        assert mine.cmd == psutil.Process().cmdline()
        assert mine.pwd == str(Path.cwd())
        assert mine.process_type == "binary"  # pytest is no command of ours

    def test_found_again_by_identity_when_the_cache_is_empty(self) -> None:
        mine = Process.current()
        Process.objects.filter(pk=mine.pk).update(worker_type="kept")
        from_database = Process.objects.get_by_pid(os.getpid())
        assert from_database is not None
        assert from_database.worker_type == "kept"

    def test_parent_is_who_the_environment_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        starter = row()
        monkeypatch.setenv("ARCHIVEBOX_PROCESS_ID", str(starter.pk))
        assert Process.current().parent == starter

    @pytest.mark.parametrize("named", [None, "not-a-uuid"])
    def test_parent_is_the_first_ancestor_with_a_row(self, named: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        if named:
            monkeypatch.setenv("ARCHIVEBOX_PROCESS_ID", named)
        ancestors = psutil.Process().parents()
        assert ancestors
        identity = Identity.of(ancestors[-1].pid)
        assert identity is not None
        shell_of_ours = row()
        shell_of_ours.take_identity(identity)
        shell_of_ours.save()
        assert Process.current().parent == shell_of_ours

    @pytest.mark.parametrize(
        ("argv", "kind"),
        [
            (["/usr/bin/archivebox", "add", "https://example.com/worker"], "cli"),
            (["/srv/archivebox/__main__.py", "list"], "cli"),
            (["/home/worker/venv/bin/archivebox", "add"], "cli"),
            (["/srv/archivebox/__main__.py", "orchestrator", "--wait"], "orchestrator"),
            (["/usr/bin/archivebox", "worker"], "worker"),
            (["/srv/archivebox/workers/supervisord_main.py", "-c", "x"], "supervisord"),
            (["/usr/bin/wget"], "binary"),
        ],
    )
    def test_type_by_program_and_command(self, argv: list[str], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "argv", argv)
        assert Process.current().process_type == kind

    def test_begin_and_finish_record_ones_own_life(self) -> None:
        key = new_id()
        mine = Process.begin(key, process_type="orchestrator")
        assert Process.current() is mine
        assert (mine.pk, again(mine).process_type, again(mine).status) == (key, "orchestrator", "running")
        mine.finish(1, "x" * 5000)
        kept = again(mine)
        assert (kept.status, kept.exit_code, kept.end_reason) == ("exited", 1, "exited")
        assert kept.stderr == "x" * TAIL
        assert kept.ended_at is not None

    def test_begin_takes_over_the_row_that_its_starter_made(self) -> None:
        starter = row()
        prepared = row(parent=starter, process_type="worker", cmd=["archivebox", "worker"])
        mine = Process.begin(prepared.pk, worker_type="worker")
        assert mine.pk == prepared.pk
        kept = again(mine)
        assert (kept.parent_id, kept.cmd, kept.pid) == (starter.pk, ["archivebox", "worker"], os.getpid())
        assert (kept.status, kept.worker_type) == ("running", "worker")


class TestRecords:
    """What a hook reports of the programs it ran."""

    def hook(self) -> Process:
        hook = row(
            process_type="hook", plugin="wget", snapshot_id=new_id(), crawl_id=new_id(), archiveresult_id=new_id()
        )
        hook.take_identity(Identity.current())
        hook.save()
        return hook

    def test_start_and_end_are_one_row(self) -> None:
        hook, key = self.hook(), str(new_id())
        start: dict[str, JSON] = {
            "id": key,
            "cmd": ["wget", "https://example.com"],
            "pwd": "/x",
            "pid": 4_000_000,
            "started_at": 1_700_000_000,
        }
        running = Process.from_jsonl(start, {"process": hook})
        assert running is not None
        assert (running.status, running.parent_id, running.process_type) == ("running", hook.pk, "binary")
        end: dict[str, JSON] = {"id": key, "cmd": ["wget"], "exit_code": 8, "ended_at": "2023-11-14T22:13:30Z"}
        ended = Process.from_jsonl(end, {"process": hook})
        assert ended is not None
        assert ended.pk == running.pk
        kept = again(ended)
        assert (kept.status, kept.exit_code, kept.end_reason, kept.pid) == ("exited", 8, "exited", 4_000_000)
        assert kept.seconds == 10.0
        assert (kept.snapshot_id, kept.crawl_id, kept.plugin) == (hook.snapshot_id, hook.crawl_id, "wget")
        assert hook.children.count() == 1

    def test_a_live_program_is_known_by_its_start(self) -> None:
        hook = self.hook()
        with subprocess.Popen(["sleep", "60"]) as child:
            reported = Process.from_jsonl({"cmd": ["sleep"], "pid": child.pid}, {"process": hook})
            assert reported is not None
            assert reported.identity == Identity.of(child.pid)
            assert Process.cleanup_stale_running() == 0
            child.kill()
        assert Process.cleanup_stale_running() == 1

    def test_a_hook_speaks_only_of_what_it_started(self) -> None:
        hook, other = self.hook(), row(cmd=["mine"])
        assert Process.from_jsonl({"id": str(other.pk), "cmd": ["evil"], "exit_code": 0}, {"process": hook}) is None
        assert again(other).cmd == ["mine"]
        assert Process.from_jsonl({"cmd": ["x"]}, {}) is None

    @pytest.mark.parametrize(
        "odd",
        [
            {"pid": "many", "cmd": "wget x", "exit_code": True},
            {"pid": 10**18, "exit_code": 1e30, "started_at": "yesterday", "pwd": "p" * 5000},
            {"pid": None, "cmd": [1, None], "started_at": 1e300, "ended_at": {"at": 1}, "id": "not-an-id"},
        ],
    )
    def test_odd_records_are_taken_as_far_as_they_make_sense(self, odd: dict[str, JSON]) -> None:
        reported = Process.from_jsonl(odd, {"process": self.hook()})
        assert reported is not None
        assert again(reported).pid is None

    @pytest.mark.parametrize(
        ("value", "year"), [("2023-11-14T22:13:20", 2023), (1_700_000_000, 2023), (True, None), ([], None)]
    )
    def test_times(self, value: object, year: int | None) -> None:
        moment = parse_time(value)  # type: ignore[arg-type]
        assert (moment.year if moment else None) == year


class TestWords:
    def test_querysets(self) -> None:
        hook = row(process_type="hook", status="running", snapshot_id=new_id())
        done = row(process_type="binary", status="exited", exit_code=0)
        failed = row(process_type="binary", status="exited", exit_code=1)
        lost = row(process_type="binary", status="exited", exit_code=None)
        far = Process.objects.create(machine=Machine.objects.create(hostname="far"))
        every = Process.objects.all()
        assert set(every.running()) == {hook}
        assert set(every.exited()) == {done, failed, lost}
        assert set(every.failed()) == {failed, lost}
        assert set(every.of_type("hook", "worker")) == {hook}
        assert set(every.on(far.machine)) == {far}
        assert far not in set(every.here())
        assert set(every.serving(snapshot_id=hook.snapshot_id)) == {hook}

    def test_summary_is_fifty_characters(self) -> None:
        assert row(cmd=["wget", "x"]).cmd_summary == "wget x"
        assert row(cmd=["x" * 80]).cmd_summary == "x" * 50 + "…"

    def test_the_table_of_transitions(self) -> None:
        states = ("queued", "running", "exited")
        for name, line in ProcessMachine.transitions().items():
            for state in states:
                one = row(status=state)
                moved = ProcessMachine.apply(Process.objects.filter(pk=one.pk), line)
                assert moved == (state in line.sources), name
                assert again(one).status == (line.target if moved else state)
        assert not ProcessMachine.allows("exited", "running")
        assert ProcessMachine.allows("queued", "running")

    def test_the_indexes_are_there(self) -> None:
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, Process._meta.db_table)
        indexed = {tuple(one["columns"]) for one in found.values() if one["index"]}
        assert {
            ("parent_id", "status"),
            ("process_type",),
            ("snapshot_id",),
            ("crawl_id",),
            ("machine_id", "pid"),
        } <= indexed
        assert not any(one["foreign_key"] and one["columns"] == ["parent_id"] for one in found.values())

    def test_a_log_that_is_not_there_has_no_tail(self, tmp_path: Path) -> None:
        assert read_tail(tmp_path / "no.log") == ("", 0)
