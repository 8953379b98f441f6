"""A database server that goes away and comes back: whoever works on it waits, says so once, and goes on."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.lib.processes import marked
from tests.integration.engine.driver import PATIENCE, REPOSITORY, Collection, collection, identity_of, is_locked
from tests.suite.packages import missing
from tests.suite.postgres import Cluster, cluster
from tests.webserver.server import free_ports

pytestmark = [pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs"), pytest.mark.once]

PAGES = 8
AWAY = "The database does not answer: the work waits until it does."


@pytest.fixture(scope="module")
def made() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


@pytest.fixture
def server(made: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv("DATABASE_URL", made.url)
    return made


@pytest.fixture
def on_it(server: Cluster, tmp_path: Path) -> Iterator[Collection]:  # noqa: ARG001 - comes first
    with collection(tmp_path, WORKERS="2") as made:
        yield made


def test_add_and_its_workers_outlive_a_restart_of_the_database(server: Cluster, on_it: Collection) -> None:
    """Each hook runs on while nobody can write down how it ended."""
    note = 'echo "${SNAP_DIR##*/} $(basename $0)" >> "$DATA_DIR/ledger"\n'
    on_it.plugin("note", {f"on_Snapshot__{step}0_note.sh": f"sleep 0.4\n{note}" for step in (1, 2, 3)})
    assert on_it.rows("Crawl", "pk") == [], "the collection is there"
    urls = [f"http://h{number}.test/" for number in range(PAGES)]
    command = [sys.executable, "-m", "archivebox", "add", "--plugins", "note", *urls]
    add = subprocess.Popen(command, cwd=REPOSITORY, env=on_it.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    on_it.wait("work", lambda: len(on_it.ledger) > 2)
    on_it.forget_rows()
    server.stop()
    before = len(on_it.ledger)
    server.start()
    said = add.communicate(timeout=PATIENCE)[0].decode()
    assert add.returncode == 3, said  # no hook of these pages keeps anything
    assert "Traceback" not in said
    assert said.count(AWAY) <= 1
    assert before < len(on_it.ledger) == len(set(on_it.ledger)) == PAGES * 3
    on_it.wait_until_gone()
    on_it.check_nothing_left()


def test_nothing_runs_on_without_a_watcher_while_the_database_is_away(server: Cluster, on_it: Collection) -> None:
    on_it.plugin(
        "slow",
        {
            "on_Crawl__10_holder.daemon.bg.sh": "echo ready\nsleep 600\n",
            "on_Snapshot__10_page.sh": 'echo began >> "$DATA_DIR/ledger"\nsleep 600\n',
        },
    )
    on_it.add()
    watcher = on_it.watch()
    on_it.wait("work", lambda: on_it.ledger)
    on_it.forget_rows()
    server.stop()
    watcher.kill()
    watcher.wait()
    on_it.watchers.clear()
    on_it.wait("nobody orchestrates", lambda: not is_locked(on_it.root / "run" / "orchestrator.lock"))
    assert not marked(on_it.root)
    server.start()
    assert on_it.row("Snapshot", "status")["status"] == "started", "it is taken up by whoever comes next"


def test_a_worker_that_begins_while_the_database_is_away_is_not_killed(server: Cluster, on_it: Collection) -> None:
    on_it.plugin("slow", {"on_Snapshot__10_page.sh": 'echo began >> "$DATA_DIR/ledger"\nsleep 600\n'})
    on_it.add()
    on_it.watch(WORKERS="1", ARCHIVEBOX_LEASE_SECONDS="8")
    on_it.wait("work", lambda: on_it.ledger)
    (worker,) = on_it.processes(worker_type="worker")
    log = on_it.root / "logs" / "orchestrator.log"
    on_it.forget_rows()
    server.stop()
    identity_of(worker).signal(signal.SIGKILL)
    on_it.wait("it has a successor, which waits", lambda: log.read_text().count(AWAY) > 1)
    time.sleep(20)  # longer than a lease, after which a silent worker is killed
    assert "did not respond" not in log.read_text()
    server.start()
    on_it.wait("it has the page", lambda: on_it.row("Snapshot", "owner")["owner"] not in {None, worker["pk"]})
    on_it.leave()


def test_a_job_goes_on_once_the_database_is_back_in_the_same_worker(server: Cluster, on_it: Collection) -> None:
    on_it.actor.ask("hold", count=400)
    key = on_it.actor.ask("begin_job", kind="export", query="", options={"format": "jsonl"})
    on_it.watch(WORKERS="1")
    on_it.wait("the middle", lambda: on_it.row("Job", "position", pk=key)["position"] > 3)
    on_it.forget_rows()
    server.stop()
    server.start()
    on_it.wait("the end", lambda: on_it.row("Job", "status", pk=key)["status"] == "sealed")
    row = on_it.row("Job", "total", "done", "failed", "problem", "memory", pk=key)
    assert (row["total"], row["done"], row["failed"], row["problem"]) == (400, 400, 0, "")
    lines = (on_it.root / "exports" / row["memory"]["file"]).read_text().splitlines()
    assert len(set(lines)) == len(lines) == 400
    on_it.leave()
    assert [worker["exit_code"] for worker in on_it.processes(worker_type="worker")] == [0]


def test_a_server_is_gone_a_minute_after_it_is_told_while_the_database_is_away(
    server: Cluster, on_it: Collection
) -> None:
    command = [sys.executable, "-m", "archivebox", "server", "--bind", f"127.0.0.1:{free_ports()}"]
    serving = subprocess.Popen(command, cwd=REPOSITORY, env=on_it.env)
    on_it.watchers.append(serving)
    on_it.wait("its worker", lambda: on_it.processes(worker_type="worker", status="running"))
    on_it.forget_rows()
    server.stop()
    try:
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(60) == 128 + signal.SIGTERM
        assert not marked(on_it.root)
    finally:
        serving.kill()
        on_it.watchers.clear()
        server.start()
