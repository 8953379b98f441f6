"""A database server that fails over again and again, each time losing its last seconds, while workers are killed."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.engine.driver import PATIENCE, Collection, collection, identity_of
from tests.suite.packages import missing
from tests.suite.postgres import cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.once,
    pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs"),
]

FAILOVERS = int(os.environ.get("CHAOS_FAILOVERS") or 5)
PAGES = 16
STEPS = (1, 2, 3)
NOTE = 'sleep 0.3\necho "${SNAP_DIR##*/} $(basename $0)" >> "$DATA_DIR/ledger"\necho kept > kept\n'
BROWSER = 'trap "exit 0" TERM\necho \'{"type":"Ready"}\'\nwhile :; do sleep 0.1; done\n'


def kill_one_worker(made: Collection, chance: random.Random) -> int:
    """Whether there was one to be killed."""
    workers = made.processes(worker_type="worker", status="running")
    return int(bool(workers) and identity_of(chance.choice(workers)).signal(signal.SIGKILL))


def test_whatever_failovers_lose_every_page_is_finished_and_nothing_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No page is lost, none fails for good, none runs on without a row; what was done again was lost or killed."""
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(10**6))
    chance, kills = random.Random(seed), 0
    with cluster() as server:
        monkeypatch.setenv("DATABASE_URL", server.url)
        with collection(tmp_path, WORKERS="2", ARCHIVEBOX_LEASE_SECONDS="3") as made:
            made.plugin("note", {f"on_Snapshot__{step}0_note.sh": NOTE for step in STEPS})
            made.plugin("browser", {"on_Crawl__10_browser.daemon.bg.sh": BROWSER})
            made.watch()
            for number in range(FAILOVERS):
                made.add(*(f"http://h{page}.test/{number}" for page in range(PAGES)))
                time.sleep(chance.uniform(0.5, 3.0))
                server.back_up()
                time.sleep(chance.uniform(0.5, 4.0))
                kills += kill_one_worker(made, chance) if number % 2 else 0
                time.sleep(chance.uniform(0.5, 4.0))
                made.forget_rows()
                server.fail_over()
            made.wait_sealed(seconds=2 * PATIENCE)
            made.leave()
            results = made.rows("ArchiveResult", "snapshot_id", "status", "reason", plugin="note")
            pages = made.rows("Snapshot", "status")
            done = Counter(made.ledger)
    print(f"CHAOS_SEED={seed}: {FAILOVERS} failovers, {kills} workers killed, {len(pages)} pages,", end=" ")
    print(f"{len(done)} hooks, {done.total() - len(done)} done again")
    assert Counter(row["status"] for row in pages) == {"sealed": FAILOVERS * PAGES}
    wrong = [row for row in results if row["status"] != "succeeded"]
    assert not wrong, wrong
    assert len(results) == len(done) == FAILOVERS * PAGES * len(STEPS)
