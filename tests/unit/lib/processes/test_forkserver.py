"""The fork server: a forked hook is the same process that a cold start makes, and nothing is lost with the server."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from archivebox.lib.processes import (
    PORTABLE,
    ExitStatus,
    ForkServer,
    ForkServerGone,
    ProcessIdentity,
    SpawnLog,
    marked,
    orphans,
    reap_orphans,
    spawn,
    wait,
    wait_until_gone,
)
from tests.unit.lib.processes.conftest import warm
from tests.unit.lib.processes.parity import PARITY
from tests.unit.lib.processes.starting import LIMIT, Starter

needs_fork = pytest.mark.skipif(PORTABLE, reason="there is no fork server on this platform")


def outcome(starter: Starter, body: str, *, fork: bool) -> tuple[int | None, bytes, str]:
    launch = starter.launch(body, "--flag", "ü")
    child = starter.start(launch) if fork else spawn(launch)
    status = wait(child, LIMIT)
    child.reap()
    return status.exit_code, Path(launch.stdout).read_bytes(), Path(launch.stderr).read_text(errors="replace")


@needs_fork
@pytest.mark.parametrize("name", PARITY)
def test_forked_hook_does_what_a_cold_one_does(forked: Starter, name: str) -> None:
    (forked.folder / "sibling.py").write_text("VALUE = 'beside'\n")
    (forked.folder / "__pycache__").mkdir()
    assert outcome(forked, PARITY[name], fork=True) == outcome(forked, PARITY[name], fork=False)


@needs_fork
def test_syntax_error_has_the_same_code_and_names_the_line(forked: Starter) -> None:
    code, _, words = outcome(forked, "print('a')\nprint(", fork=True)
    assert code == 1
    assert "line 2" in words
    assert words.rstrip().endswith("SyntaxError: '(' was never closed")


@needs_fork
def test_missing_script_fails_as_cold(forked: Starter) -> None:
    launch = forked.launch("pass")
    (launch.script or Path()).unlink()
    results = []
    for child in (forked.start(launch), spawn(launch)):
        results.append(wait(child, LIMIT).exit_code)
        child.reap()
    assert results == [2, 2]
    first, second = Path(launch.stderr).read_text().splitlines()
    assert first == second


@needs_fork
def test_changed_script_is_compiled_again(forked: Starter) -> None:
    launch = forked.launch("print('old')")
    wait(forked.start(launch), LIMIT)
    (launch.script or Path()).write_text("print('newer')")
    wait(forked.start(launch), LIMIT)
    assert Path(launch.stdout).read_text() == "old\nnewer\n"


@needs_fork
def test_bytecode_of_an_older_script_is_kept_until_the_script_changes(forked: Starter) -> None:
    launch = forked.launch("print('old')")
    script = launch.script or Path()
    os.utime(script, (1_600_000_000, 1_600_000_000))
    wait(forked.start(launch), LIMIT)
    assert [path.name.partition(".")[0] for path in (script.parent / "__pycache__").iterdir()] == [script.stem]
    script.write_text("print('new')")
    wait(forked.start(launch), LIMIT)
    assert Path(launch.stdout).read_text() == "old\nnew\n"


@needs_fork
def test_usage_and_title_are_the_hooks_own(forked: Starter) -> None:
    child, _ = forked.until_ready("import os, sys, time\nos.write(int(sys.argv[1]), b'1\\n')\ntime.sleep(60)")
    title = Path(f"/proc/{child.identity.pid}/cmdline").read_bytes().rstrip(b"\0").decode()
    assert title.startswith(f"{sys.executable} {forked.folder}/hook_")
    child.identity.signal(signal.SIGTERM)
    status = wait(child, LIMIT)
    assert status.exit_code == -15
    assert status.max_rss > 1_000_000


@needs_fork
def test_server_killed_while_hooks_run(forked: Starter) -> None:
    """One has ended and was not asked for, three run on: all four codes arrive, and all are reaped."""
    server = forked.server
    assert server is not None
    body = (
        "import sys, time\nprint(sys.argv[1], flush=True)\ntime.sleep(float(sys.argv[2]))\nsys.exit(int(sys.argv[1]))"
    )
    early = forked.hook(body, "9", "0")
    while not early.identity.is_zombie():
        os.sched_yield()
    late = [forked.hook(body, str(code), "0.4") for code in (3, 4, 5)]
    assert server.identity is not None
    assert server.identity.signal(signal.SIGKILL)
    assert wait(early, LIMIT).exit_code == 9
    assert [wait(child, LIMIT).exit_code for child in late] == [3, 4, 5]
    assert not server.alive
    for child in (early, *late):
        assert child.identity.is_zombie()
        child.reap()
        assert not child.identity.is_alive()


@needs_fork
def test_status_known_before_the_server_died_is_reaped_after_it(forked: Starter) -> None:
    child = forked.hook("import sys; sys.exit(8)")
    assert wait(child, LIMIT).exit_code == 8
    assert forked.server is not None
    forked.server.close()
    assert child.identity.is_zombie()
    child.reap()
    assert not child.identity.is_alive()


@needs_fork
def test_dead_server_takes_no_start_and_another_does(forked: Starter) -> None:
    assert forked.server is not None
    assert forked.server.identity is not None
    forked.server.identity.signal(signal.SIGKILL)
    wait_until_gone(forked.server.identity, LIMIT)
    with pytest.raises(ForkServerGone):
        forked.hook("pass")
    forked.server = warm(forked.folder)
    assert wait(forked.hook("import sys; sys.exit(3)"), LIMIT).exit_code == 3


@needs_fork
def test_a_server_killed_between_fork_and_answer_has_run_nothing(forked: Starter) -> None:
    """The child waits for the worker's go; killed at any moment, a start either is known to us or has not happened."""
    ran = forked.folder / "ran"
    body = f"import os\nos.close(os.open({str(ran)!r} + os.environ['ARCHIVEBOX_PROCESS_ID'], os.O_CREAT | os.O_EXCL))"
    refused, before = 0, orphans()  # what other tests have this process keep, such as a parser's trial process
    for delay in range(12):
        server = warm(forked.folder)
        assert server.identity is not None
        launch = forked.launch(body)
        countdown = f"for ((i = 0; i < {15 * 2**delay}; i++)); do :; done; kill -9 {server.identity.pid}"
        assassin = subprocess.Popen(["bash", "-c", countdown])
        forked.server = server
        try:
            child = forked.start(launch)
        except ForkServerGone:
            refused += 1
            assert not Path(f"{ran}{launch.process_id}").exists()
        else:
            assert wait(child, LIMIT).exit_code == 0
            assert Path(f"{ran}{launch.process_id}").exists()
        assassin.wait()
        server.close()
    assert refused < 12
    deadline = time.monotonic() + LIMIT  # a child that waited for its go ends by itself, a moment after its server
    while alive := [child for child in orphans() - before if child.is_alive() and not child.is_zombie()]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.005)


@needs_fork
def test_server_ends_with_its_worker_and_leaves_the_hooks(tmp_path: Path) -> None:
    worker = """
import sys, time
from pathlib import Path
from archivebox.lib.processes import ForkServer, Launch
folder = Path(sys.argv[1])
server = ForkServer(python=sys.executable, preload=[], log=folder / "log", spawn_log=None)
server.start()
script = folder / "hook.py"
script.write_text("import sys, time; time.sleep(1.5); sys.exit(6)")
child = server.spawn(Launch("w", (sys.executable, str(script)), folder, {}, folder / "o", folder / "e", script=script))
print(*child.identity[2:], *server.identity[2:], flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", worker, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        numbers = list(map(int, process.stdout.readline().split()))
        process.kill()
    here = ProcessIdentity.current()
    hook, server = (here._replace(pid=pid, start_ticks=ticks) for pid, ticks in (numbers[:2], numbers[2:]))
    wait_until_gone(server, LIMIT)
    assert hook.is_alive()
    assert not hook.is_zombie()
    assert status_of(hook).exit_code == 6


def status_of(orphan: ProcessIdentity) -> ExitStatus:
    """How an orphan ended that came to this process."""
    wait_until_gone(orphan, LIMIT)
    return reap_orphans(None)[orphan]


@needs_fork
@pytest.mark.parametrize("change", ["python", "option", "variable", "mark", "size", "none"])
def test_what_needs_a_cold_start_is_refused(forked: Starter, change: str) -> None:
    launch = forked.launch("print(1)")
    python, script = launch.argv
    changes: dict[str, dict[str, object]] = {
        "python": {"argv": ("/usr/bin/python3", script)},
        "option": {"argv": (python, "-O", script)},
        "variable": {"env": launch.env | {"PYTHONPATH": "/x"}},
        "mark": {"process_id": "x" * 37},
        "size": {"env": launch.env | {"BIG": "x" * 300_000}},
        "none": {"script": None},
    }
    changed = launch._replace(**changes[change])  # type: ignore[arg-type]
    assert forked.server is not None
    with pytest.raises(ForkServerGone):
        forked.server.spawn(changed)
    assert forked.server.alive


@needs_fork
def test_neither_end_waits_for_the_other_when_both_queues_are_full(forked: Starter) -> None:
    """400 ends that nobody took block the server; 400 leaves to reap then fill the other queue."""
    known = [forked.hook("pass") for _ in range(400)]
    assert {wait(child, LIMIT).exit_code for child in known} == {0}
    gate, door = os.pipe()
    launch = forked.launch("import os, sys; os.read(int(sys.argv[1]), 1)", str(gate), pass_fds=(gate,))
    waiting = [forked.start(launch) for _ in range(400)]
    os.close(gate)
    os.close(door)
    for child in waiting:
        wait_until_gone(child.identity, LIMIT)
    for child in known:
        child.reap()
    assert {wait(child, LIMIT).exit_code for child in waiting} == {0}


@needs_fork
def test_marks_of_forked_children_are_in_proc(forked: Starter) -> None:
    body = "import os, sys, time\nos.write(int(sys.argv[1]), b'1\\n')\ntime.sleep(60)"
    first, _ = forked.until_ready(body)
    second, _ = forked.until_ready(body, "again")
    found = marked(forked.folder)
    assert found == {first.identity: first.process_id, second.identity: second.process_id}
    block = Path(f"/proc/{first.identity.pid}/environ").read_bytes()
    assert f"ARCHIVEBOX_PROCESS_ID={first.process_id}".encode() in block.split(b"\0")


@needs_fork
def test_forked_child_is_in_the_spawn_log_before_its_code_runs(forked: Starter) -> None:
    log = forked.folder / "spawn.jsonl"
    launch = forked.launch(f"print(open({str(log)!r}).read())")
    SpawnLog(log).intent(launch.process_id, {"cmd": "x", "timeout": 60})
    child = forked.start(launch)
    wait(child, LIMIT)
    (forked.folder / "copy.jsonl").write_text(Path(launch.stdout).read_text())
    (entry,) = SpawnLog.read(forked.folder / "copy.jsonl")
    assert entry.process_id == launch.process_id
    assert entry.row == {"cmd": "x", "timeout": 60}
    assert entry.identity == child.identity


@needs_fork
def test_what_cannot_be_preloaded_is_logged_and_left_to_the_hooks(tmp_path: Path) -> None:
    server = ForkServer(
        python=sys.executable,
        preload=["no_such_module"],
        sys_path=[str(tmp_path)],
        log=tmp_path / "log",
        spawn_log=None,
    )
    server.start()
    try:
        server.wait_until_warm()
        assert "no_such_module" in (tmp_path / "log").read_text()
    finally:
        server.close()


@needs_fork
def test_what_may_come_later_is_imported_while_nobody_asks(tmp_path: Path) -> None:
    (tmp_path / "first.py").touch()
    (tmp_path / "second.py").write_text("import pathlib\npathlib.Path(__file__).with_name('imported').touch()\n")
    server = ForkServer(
        python=sys.executable,
        preload=["first"],
        later=["no_such_module", "second"],
        sys_path=[str(tmp_path)],
        log=tmp_path / "log",
        spawn_log=None,
    )
    server.start()
    try:
        deadline = time.monotonic() + 90
        while not (tmp_path / "imported").exists():
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()
            time.sleep(0.01)
        assert server.alive
    finally:
        server.close()


@pytest.mark.skipif(not PORTABLE, reason="there is a fork server here")
def test_no_fork_server_on_the_portable_path(tmp_path: Path) -> None:
    assert not ForkServer.available()
    with pytest.raises(ForkServerGone):
        ForkServer(python=sys.executable, preload=[], log=tmp_path / "log", spawn_log=None).start()
