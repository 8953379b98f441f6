"""`archivebox server` from start to end: what it starts is on record, and ends with it, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.forked import ForkedProcess
from tests.marks import first_by_default
from tests.webserver.events import Events
from tests.webserver.server import START, Server, Visitor, environment, free_ports, in_collection

FIVE = 5.0
"""Seconds within which nothing is left when one of the processes dies."""


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def wait_until_gone(pids: list[int], seconds: float = FIVE) -> None:
    """Wait until the processes are gone; under load the machine's own delay is added to the promise."""
    end = time.monotonic() + seconds * 4
    while not all(map(is_gone, pids)):
        assert time.monotonic() < end, f"still there: {[pid for pid in pids if not is_gone(pid)]}"
        time.sleep(0.05)


def test_everything_under_the_server_is_on_record_with_its_parent(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        pids = server.processes()
        assert {"cli", "supervisord", "web"} <= set(pids) or {"binary", "supervisord", "web"} <= set(pids)
        code = (
            "from archivebox.machine.models import Process\n"
            "web = Process.objects.running().get(worker_type='web')\n"
            "print(web.process_type, web.parent.process_type, web.parent.parent.pid)\n"
            "orchestrator = Process.objects.running().get(process_type='orchestrator')\n"
            "print(orchestrator.parent == web.parent, orchestrator.parent.pid)\n"
            "from archivebox.workers.supervise.serving import served_at; print(*served_at())"
        )
        assert in_collection(tmp_path, code).splitlines() == [
            f"worker supervisord {server.cli.pid}",
            f"True {pids['supervisord']}",
            f"127.0.0.1:{server.port} 127.0.0.1:{server.replay_port}",
        ]
        visitor = Visitor(server)
        visitor.post(server.link())
        with Events(visitor) as page_left_open:
            assert page_left_open.status == 200
            assert server.stop() == 128 + signal.SIGTERM
    code = (
        "from archivebox.machine.models import Process\n"
        "for row in Process.objects.filter(process_type='supervisord') | Process.objects.filter(worker_type='web'):\n"
        "    print(row.status, row.exit_code, row.end_reason, row.ended_at is not None)"
    )
    assert in_collection(tmp_path, code).splitlines() == ["exited 0 exited True"] * 2
    wait_until_gone(list(pids.values()))


def test_a_server_works_with_few_open_files(tmp_path: Path) -> None:
    with Server(tmp_path, starter=("/bin/sh", "-c", 'ulimit -n 256; exec "$@"', "sh")) as server:
        assert server.ask("/health/").status == 200


def test_secrets_and_the_control_socket_are_for_us_alone(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert stat.S_IMODE((tmp_path / "run" / "secret-key").stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "run" / "supervisord.conf").stat().st_mode) == 0o600
        control = tmp_path / "run" / "supervisord.sock"
        if control.exists():  # left out where its path is longer than the system takes
            assert stat.S_IMODE(control.stat().st_mode) == 0o600
        key = (tmp_path / "run" / "secret-key").read_text()
        assert key.strip() not in server.output
    with Server(tmp_path):
        assert (tmp_path / "run" / "secret-key").read_text() == key, "sessions live on"


@pytest.mark.default
@first_by_default(1, "signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_winds_everything_down(tmp_path: Path, signum: signal.Signals) -> None:
    with Server(tmp_path) as server:
        pids = server.processes()
        assert server.stop(signum) == 128 + signum
        wait_until_gone(list(pids.values()))
        assert not list((tmp_path / "run" / "watchers").iterdir())


ALONE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""As a container has it: the first process of a pid namespace, which gets every orphan and no signal by default."""
can_be_first = pytest.mark.skipif(
    not shutil.which("unshare") or subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode != 0,
    reason="needs the right to make pid namespaces",
)


@can_be_first
def test_as_first_process_of_a_container_it_reaps_orphans_and_ends_in_order(tmp_path: Path) -> None:
    with Server(tmp_path, starter=ALONE) as server, killed_at_last(server.cli):
        (first,) = psutil.Process(server.cli.pid).children()
        inside = ("nsenter", f"--target={first.pid}", "--pid", "--mount", "sh", "-c")
        subprocess.run([*inside, "sleep 600 & sleep 600 & exit"], check=True, timeout=120, stdout=subprocess.DEVNULL)
        server.wait_for(lambda: len(orphans_below(first)) == 2, 120)
        for orphan in orphans_below(first):
            orphan.kill()
        server.wait_for(lambda: not orphans_below(first), 120)
        first.terminate()
        assert server.cli.wait(120) == 128 + signal.SIGTERM
    code = (
        "from archivebox.machine.models import Process\n"
        "for row in Process.objects.filter(process_type='supervisord') | Process.objects.filter(worker_type='web'):\n"
        "    print(row.status, row.exit_code, row.end_reason)"
    )
    assert in_collection(tmp_path, code).splitlines() == ["exited 0 exited"] * 2


@contextmanager
def killed_at_last(starter: subprocess.Popen[bytes] | ForkedProcess) -> Iterator[None]:
    """`unshare` ignores SIGTERM; what it has started ends with it."""
    try:
        yield
    finally:
        starter.kill()


def orphans_below(first: psutil.Process) -> list[psutil.Process]:
    """What came to it, zombies as well."""
    return [child for child in first.children() if child.name() == "sleep"]


def test_when_the_cli_is_killed_supervisord_and_the_web_server_end(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        pids = server.processes()
        server.cli.send_signal(signal.SIGKILL)
        server.cli.wait(90)
        wait_until_gone([pids["supervisord"], pids["web"]])
    with Server(tmp_path) as server:
        code = (
            "from archivebox.machine.models import Process\n"
            "print(Process.objects.running().filter(process_type='supervisord').count(),\n"
            "      Process.objects.running().filter(worker_type='web').count())"
        )
        assert in_collection(tmp_path, code) == "1 1", "the rows of the killed ones are closed"


def test_when_supervisord_is_killed_the_cli_ends_the_rest_and_says_so(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        pids = server.processes()
        os.kill(pids["supervisord"], signal.SIGKILL)
        assert server.cli.wait(60) == 1
        assert "supervisord has ended by itself" in server.output
        wait_until_gone([pids["web"]])


@pytest.mark.default
def test_a_killed_web_server_is_started_again_and_its_row_is_closed(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        first = server.processes()["web"]
        os.kill(first, signal.SIGKILL)
        server.wait_for(lambda: server.processes().get("web", first) != first, 60)
        server.wait_for(lambda: _answers(server), 60)
        assert server.ask("/health/").status == 200
        code = (
            "from archivebox.machine.models import Process\n"
            f"row = Process.objects.get(pid={first}, worker_type='web'); print(row.status, row.exit_code)"
        )
        assert in_collection(tmp_path, code).split()[0] == "exited"


def _answers(server: Server) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("which", [0, 1])
def test_a_port_that_is_taken_is_refused_before_anything_is_made(tmp_path: Path, which: int) -> None:
    port = free_ports()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port + which))
        other.listen()
        done = subprocess.run(
            [sys.executable, "-c", START, f"127.0.0.1:{port}"],
            env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert f"Cannot listen on 127.0.0.1:{port + which}: Address already in use" in done.stdout
    assert list(tmp_path.iterdir()) == []
