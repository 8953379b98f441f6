import json
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from archivebox.lib.processes import ExitJournal, ExitStatus, ProcessIdentity
from archivebox.machine.logtail import TAIL
from archivebox.machine.models import Machine, Process
from archivebox.storage.layout import DataFolder
from tests.factories import LIMIT, again, process, python, row, shell
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")


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
        assert kept.identity.boot_id == ProcessIdentity.current().boot_id

    def test_a_signal_that_ended_it_is_what_the_kernel_reported(self) -> None:
        done = shell("kill -KILL $$").launch()
        assert (again(done).exit_code, again(done).end_reason) == (-9, "signalled")
        assert done.poll() == done.wait() == -9

    def test_background_returns_at_once_and_is_waited_for(self) -> None:
        running = shell("sleep 60 & wait; sleep 60").launch(background=True)
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
        # A shell whose child was told first would leave `wait` and end with 0, were there nothing after it.
        done = shell(f"sleep 60 & echo $! > {note}; wait; sleep 60", timeout=1).launch()
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
        assert done.cmd_file.read_text() == f"#!/bin/sh\ncd {folder}\n/bin/sh -c 'echo hi'\n"
        assert not done.pid_file.exists()
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
            identity = ProcessIdentity.of(popen.pid)
            assert identity is not None
            known.set_identity(identity)
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
        gone_long_ago = ProcessIdentity.current()._replace(start_ticks=1)
        known.set_identity(gone_long_ago)
        known.save()
        ExitJournal(collection.exits).write(gone_long_ago, ExitStatus(7, 0.5, 0.25, 4096))
        assert known.poll() == 7
        assert (again(known).exit_code, again(known).user_seconds, again(known).max_rss) == (7, 0.5, 4096)

    def test_a_zombie_waits_for_its_reaper(self) -> None:
        with subprocess.Popen(["/bin/true"]) as popen:
            identity = ProcessIdentity.of(popen.pid)
            assert identity is not None
            known = row()
            known.set_identity(identity)
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
        stale.set_identity(ProcessIdentity.current()._replace(start_ticks=1))
        stale.save()
        arrange(Process.objects.filter(pk=stale.pk), status="exited", exit_code=0, end_reason="exited")
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
        far.set_identity(ProcessIdentity.current()._replace(start_ticks=1))
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

    def test_the_pid_of_a_hook_is_in_a_file_while_it_runs(self, collection: DataFolder) -> None:
        running = process("/bin/sleep", "60", pwd=collection.users / "plugin", hook_name="on_Snapshot__10_a.sh")
        assert running.launch(background=True).pid_file.read_text() == f"{running.pid}\n"
        assert running.kill()
        assert not running.pid_file.exists()

    def test_kill_is_false_for_what_has_gone_by_itself(self) -> None:
        ended = shell("true").launch()
        assert not ended.kill()
        unreaped = shell("exit 4").launch(background=True)
        assert unreaped.identity is not None
        while not unreaped.identity.is_zombie():
            time.sleep(0.01)
        assert not unreaped.kill()
        assert again(unreaped).exit_code == 4

    def test_kill_waits_for_an_end_that_takes_its_time(self) -> None:
        running = shell("trap 'sleep 1.5; exit 3' TERM; echo up >&2; while :; do sleep 0.05; done")
        wait_for(running.launch(background=True).stderr_file)
        assert running.kill()
        assert running.poll() == 3

    def test_kill_tree_takes_the_children_too(self, collection: DataFolder) -> None:
        note = collection.root / "child"
        running = shell(f"setsid sleep 60 & echo $! > {note}; wait; sleep 60").launch(background=True)
        child = int(wait_for(note))
        assert child in running.get_children_pids()
        assert running.kill_tree()
        assert gone(child)
        assert running.poll() == -9

    def test_a_stranger_with_its_pid_is_never_signalled(self) -> None:
        with subprocess.Popen(["sleep", "60"]) as stranger:
            known = row()
            identity = ProcessIdentity.of(stranger.pid)
            assert identity is not None
            known.set_identity(identity._replace(start_ticks=identity.start_ticks - 1))
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
        assert not done.kill()
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
