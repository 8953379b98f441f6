"""Ends of processes: every kind of exit, looked at before it is reaped, and kept when the worker dies in between."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from archivebox.lib.processes import (
    PORTABLE,
    Child,
    ExitJournal,
    ExitStatus,
    ProcessIdentity,
    adopt,
    adoption,
    foreground_child,
    orphans,
    reap_orphans,
    unreaped,
    wait,
    wait_until_gone,
)
from tests.unit.lib.processes.starting import LIMIT, Starter

needs_linux = pytest.mark.skipif(PORTABLE, reason="there is no subreaper on this path")

KINDS = {
    "falls off the end": ("pass", 0),
    "exit 3": ("import sys; sys.exit(3)", 3),
    "raises": ("1/0", 1),
    "os._exit": ("import os; os._exit(9)", 9),
    "SIGTERM": ("import os; os.kill(os.getpid(), 15)", -15),
    "SIGKILL": ("import os; os.kill(os.getpid(), 9)", -9),
    "SIGINT": ("import os, time; os.kill(os.getpid(), 2); time.sleep(9)", -2),
    "SIGSEGV": ("import ctypes; ctypes.string_at(0)", -11),
}


@pytest.mark.parametrize("kind", KINDS)
def test_exit_code_is_what_the_kernel_reported(starter: Starter, kind: str) -> None:
    body, expected = KINDS[kind]
    assert wait(starter.hook(body), LIMIT).exit_code == expected


def test_usage_is_that_of_the_hook(starter: Starter) -> None:
    status = wait(starter.hook("import time\nb = b'x' * 90_000_000\nwhile time.process_time() < 0.3: pass"), LIMIT)
    assert status.user_seconds + status.system_seconds >= 0.3
    assert status.max_rss > 90_000_000


def test_a_child_can_be_looked_at_many_times_and_is_reaped_once(starter: Starter) -> None:
    child = starter.hook("import sys; sys.exit(4)")
    status = wait(child, LIMIT)
    if not PORTABLE:
        assert child.identity.is_zombie()
    assert child.peek() == status == child.peek()
    assert child.identity in unreaped()
    child.reap()
    child.reap()
    assert child.identity not in unreaped()
    assert child.peek() == status


def test_a_dropped_child_keeps_its_status(cold: Starter) -> None:
    """Popen reaps dropped ones when the next is made; the register holds on to them."""
    identity = cold.hook("#!/bin/bash\nexit 6").identity
    cold.children.clear()
    for _ in range(3):
        wait(cold.hook("#!/bin/bash\nexit 0"), LIMIT)
    child = unreaped()[identity]
    assert wait(child, LIMIT).exit_code == 6
    child.reap()


def test_a_running_child_is_not_reaped(starter: Starter) -> None:
    child = starter.hook("import time; time.sleep(60)")
    assert child.peek() is None
    with pytest.raises(TimeoutError):
        wait(child, 0.05)
    with pytest.raises(RuntimeError):
        child.reap()
    assert child.identity.signal(signal.SIGKILL)
    assert wait(child, LIMIT).exit_code == -9


def test_files_are_appended_to_and_stdin_is_empty(starter: Starter) -> None:
    launch = starter.launch("import sys; print(repr(sys.stdin.read()), sys.argv[1:])", "--url=x y")
    Path(launch.stdout).write_text("before\n")
    wait(starter.start(launch), LIMIT)
    assert Path(launch.stdout).read_text() == "before\n'' ['--url=x y']\n"


def test_file_size_limit_stops_a_flood(starter: Starter) -> None:
    body = (
        "import time, sys\ntime.sleep(0.2)\nwith open('big', 'wb') as f:\n    for _ in range(64): f.write(b'x' * 65536)"
    )
    launch = starter.launch(body, limit=1 << 20)
    assert wait(starter.start(launch), LIMIT).exit_code == 1
    assert (starter.folder / "big").stat().st_size == 1 << 20
    assert "File too large" in Path(launch.stderr).read_text()


def test_what_cannot_be_started_says_so(cold: Starter) -> None:
    launch = cold.launch("#!/bin/bash\n")
    (cold.folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError):
        cold.start(type(launch)("x", ("/no/such/program",), cold.folder, {}, launch.stdout, launch.stderr))
    with pytest.raises(FileNotFoundError):
        cold.start(type(launch)("x", launch.argv, cold.folder / "gone", {}, launch.stdout, launch.stderr))


WORKER = """
import sys, time
from pathlib import Path
from archivebox.lib.processes import Launch, spawn, wait
folder = Path(sys.argv[1])
child = spawn(Launch("w", ("/bin/bash", "-c", sys.argv[2]), folder, {}, folder / "out", folder / "err"))
if sys.argv[3] == "peek":
    assert wait(child, 30).exit_code == 7
print(child.identity.pid, child.identity.start_ticks, flush=True)
time.sleep(60)
"""


def hook_of_a_dead_worker(folder: Path, body: str, mode: str) -> ProcessIdentity:
    """A hook whose worker was killed after it had started it (``run``), or had looked at its end (``peek``)."""
    argv = [sys.executable, "-c", WORKER, str(folder), body, mode]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        pid, ticks = worker.stdout.readline().split()
        worker.kill()
    return ProcessIdentity.current()._replace(pid=int(pid), start_ticks=int(ticks))


def buried_status(identity: ProcessIdentity, journal: ExitJournal) -> ExitStatus | None:
    """What the subreaper above journals of a dead worker's hook, once that has ended."""
    wait_until_gone(identity, LIMIT)
    assert identity in reap_orphans(journal)
    return journal.read(identity)


def adopted_status(identity: ProcessIdentity, journal: ExitJournal) -> ExitStatus | None:
    """What the subreaper sees if it goes on with the hook itself; nobody buries it meanwhile."""
    child = adopt("w", identity, journal.path(identity))
    assert child is not None
    status = wait(child, LIMIT)
    assert identity not in reap_orphans(journal)
    assert identity.is_zombie()
    child.reap()
    return status


@needs_linux
@pytest.mark.parametrize(("mode", "body"), [("peek", "exit 7"), ("run", "sleep 0.3; exit 7")])
@pytest.mark.parametrize("see", [buried_status, adopted_status])
def test_status_survives_a_worker_that_dies_before_it_reaped(
    tmp_path: Path, mode: str, body: str, see: Callable[[ProcessIdentity, ExitJournal], ExitStatus | None]
) -> None:
    identity = hook_of_a_dead_worker(tmp_path, body, mode)
    assert identity in orphans()
    status = see(identity, ExitJournal(tmp_path))
    assert status is not None
    assert status.exit_code == 7
    assert status.max_rss > 0
    assert not identity.is_alive()


@needs_linux
def test_own_children_are_never_buried(cold: Starter, tmp_path: Path) -> None:
    child = cold.hook("#!/bin/bash\nexit 5")
    wait(child, LIMIT)
    assert child.identity not in reap_orphans(ExitJournal(tmp_path))
    assert child.identity.is_zombie()


@needs_linux
def test_a_child_that_is_waited_for_is_no_orphan() -> None:
    """Else its status is gone when its starter asks for it, and Popen says that all is well."""
    with foreground_child(lambda: subprocess.Popen(["bash", "-c", "exit 7"])) as popen:
        identity = ProcessIdentity.of(popen.pid)
        assert identity is not None
        deadline = time.monotonic() + LIMIT
        while not identity.is_zombie() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert identity not in orphans()
        assert identity not in reap_orphans(None)

    assert popen.returncode == 7


ORCHESTRATOR = textwrap.dedent("""
    import signal, subprocess, sys, time
    from pathlib import Path
    from archivebox.lib.processes import ExitJournal, become_subreaper, reap_orphans
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    become_subreaper()
    folder, worker, writes = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "journal"
    argv = [sys.executable, "-c", worker, str(folder), "read -t 30 < go; exit 7", "run"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        process.kill()
    print(line, end="", flush=True)
    while True:
        signal.sigwait({signal.SIGCHLD})
        reap_orphans(ExitJournal(folder) if writes else None)
""")


def kernel_tells_exits() -> bool:
    """PIDFD_GET_INFO with PIDFD_INFO_EXIT came with Linux 6.15."""
    release = os.uname().release.split("-")[0].split(".")
    return (int(release[0]), int(release[1])) >= (6, 15)


@contextmanager
def adopted_from_another_parent(tmp_path: Path, writes: str) -> Iterator[tuple[Child, "subprocess.Popen[str]"]]:
    """A hook that ends when ``go`` is written, and its parent, which ends with the block."""
    os.mkfifo(tmp_path / "go")
    argv = [sys.executable, "-c", ORCHESTRATOR, str(tmp_path), WORKER, writes]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as orchestrator:
        try:
            assert orchestrator.stdout is not None
            pid, ticks = map(int, orchestrator.stdout.readline().split())
            identity = ProcessIdentity.current()._replace(pid=pid, start_ticks=ticks)
            child: Child | None = adopt("w", identity, ExitJournal(tmp_path).path(identity))
            assert child is not None
            yield child, orchestrator
        finally:
            orchestrator.kill()


@needs_linux
@pytest.mark.parametrize("writes", ["journal", "silent"])
def test_adopted_hook_under_another_parent(tmp_path: Path, writes: str) -> None:
    with adopted_from_another_parent(tmp_path, writes) as (child, _):
        assert child.peek() is None
        (tmp_path / "go").write_text("now\n")
        status = wait(child, LIMIT)
        child.reap()
    if writes == "journal":
        assert status.exit_code == 7
        assert status.max_rss > 0
    else:
        assert status == ExitStatus(7 if kernel_tells_exits() else None)


@needs_linux
def test_the_record_of_an_adopted_hook_is_waited_for_while_its_parent_stands_still(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its end is seen at once; its status comes with whoever reaps it, however little that gets of the processors."""
    monkeypatch.setattr(adoption, "RECORD_SECONDS", 0.0)
    with adopted_from_another_parent(tmp_path, "journal") as (child, orchestrator):
        assert not child.ended
        orchestrator.send_signal(signal.SIGSTOP)
        (tmp_path / "go").write_text("now\n")
        wait_until_gone(child.identity, LIMIT)
        assert [child.peek(), child.peek()] == [None, None]
        assert child.ended
        orchestrator.send_signal(signal.SIGCONT)
        status = wait(child, LIMIT)
        child.reap()
    assert status.exit_code == 7
    assert status.max_rss > 0


def test_nothing_is_adopted_that_is_gone_without_a_record(cold: Starter, tmp_path: Path) -> None:
    child = cold.hook("#!/bin/bash\n")
    wait(child, LIMIT)
    child.reap()
    assert adopt("x", child.identity, tmp_path / "none.json") is None


def test_journal_knows_exactly_the_process_it_was_told_of(tmp_path: Path) -> None:
    journal, identity = ExitJournal(tmp_path), ProcessIdentity.current()
    status = ExitStatus(-15, 0.25, 0.5, 4096)
    journal.write(identity, status)
    assert journal.all() == {identity: status}
    assert journal.read(identity._replace(boot_id="another")) is None
    (tmp_path / "1-2.json").write_text('{"half": ')
    (tmp_path / "3-4.json.77.tmp").write_text("{}")
    assert journal.all() == {identity: status}
    journal.forget(identity)
    journal.forget(identity)
    assert journal.all() == {}
