"""Two machines with one database: each is woken by work of the other, and takes over what a dead one had begun."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from archivebox.base_models.wakeups import CHANNEL
from tests.integration.engine.driver import Collection, collection, wait_for
from tests.suite.packages import missing
from tests.suite.postgres import Cluster, cluster

pytestmark = [pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs"), pytest.mark.once]

SECRET_KEY = "of no server"


@pytest.fixture(scope="module")
def made() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


@pytest.fixture
def server(made: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv("DATABASE_URL", made.url)
    return made


@pytest.fixture
def here(server: Cluster, tmp_path: Path) -> Iterator[Collection]:  # noqa: ARG001 - comes first
    (tmp_path / "here").mkdir()
    with collection(tmp_path / "here", MACHINE_ID="here", SECRET_KEY=SECRET_KEY) as made:
        yield made


@pytest.fixture
def elsewhere(here: Collection, tmp_path: Path) -> Iterator[Collection]:
    """Another machine with the same database, which nothing of this one reaches but by that."""
    (tmp_path / "elsewhere").mkdir()
    shared = here.env["DATABASE_URL"]
    settings = {"MACHINE_ID": "elsewhere", "DATABASE_URL": shared, "SECRET_KEY": SECRET_KEY}
    with collection(tmp_path / "elsewhere", **settings) as made:
        yield made


def listeners(of: Collection) -> int:
    """How many connections to the database listen now."""
    with psycopg.connect(of.env["DATABASE_URL"]) as asking:
        found = asking.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query = %s", [f"LISTEN {CHANNEL}"]
        ).fetchone()
    return int(found[0]) if found else 0


def touched(of: Collection) -> int:
    return (of.root / "run" / "doorbell").stat().st_mtime_ns


def was_touched_since(moment: int, of: Collection) -> bool:
    return touched(of) > moment


def check_wakes(here: Collection, elsewhere: Collection) -> None:
    """Notify here, and see the wake-up file touched elsewhere; a worker without work touches none."""
    wait_for("it listens", lambda: listeners(here) == 1)
    for _ in range(3):
        before = touched(elsewhere)
        here.actor.ask("deliver_now")
        elsewhere.wait("its wake-up file", partial(was_touched_since, before, elsewhere))


def test_an_idle_machine_is_woken(server: Cluster, here: Collection, elsewhere: Collection) -> None:
    elsewhere.watch()
    check_wakes(here, elsewhere)
    for each in (here, elsewhere):
        each.forget_rows()
    server.stop()
    server.start()
    check_wakes(here, elsewhere)
    listener = elsewhere.processes(worker_type="listener")
    assert [row["status"] for row in listener] == ["running"], "it is on record, and outlives its database"
    elsewhere.leave()


def test_what_a_dead_machine_had_begun_is_finished_by_another(here: Collection, elsewhere: Collection) -> None:
    """Its crawl waits for it until it is known to be gone: then, or when it is drained."""
    waits = 'echo "$0" >> "$DATA_DIR/ledger"\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n'
    for each in (here, elsewhere):
        each.settings["ARCHIVEBOX_LEASE_SECONDS"] = "6"
        each.plugin("waits", {"on_Snapshot__10_waits.sh": waits})
    (elsewhere.root / "go").touch()
    here.add()
    here.watch()
    here.wait("its hook", lambda: here.ledger)
    here.kill()
    elsewhere.watch()
    elsewhere.wait("the page", lambda: elsewhere.rows("Snapshot", "pk", status="sealed"))
    assert len(elsewhere.ledger) == 1
    here.actor.ask("drain", seconds=0)
    elsewhere.wait_sealed()
