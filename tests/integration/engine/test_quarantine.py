"""What kills its workers again and again is put aside, and everything else goes on."""

import pytest

from tests.integration.engine.driver import Collection

pytestmark = pytest.mark.database

DEADLY = """
import os, signal, sqlite3, time
rows = sqlite3.connect(os.environ["DATA_DIR"] + "/index.sqlite3", timeout=30)
while "bad.test" in os.environ["SNAP_DIR"]:
    time.sleep(3)
    for (pid,) in rows.execute("select pid from machine_process where worker_type='worker' and status='running'"):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
"""


@pytest.mark.slow
@pytest.mark.once  # its hook reads SQLite
def test_what_kills_its_worker_each_time_is_put_aside(forked: Collection) -> None:
    """A hook that kills every worker it finds; the other page of the crawl is archived all the same."""
    forked.plugin("deadly", {"on_Snapshot__10_deadly.py": DEADLY})
    forked.plugin("rest", {"on_Snapshot__20_rest.sh": "exit 0\n"})
    forked.add("http://bad.test/", "http://good.test/")
    forked.watch()
    forked.wait_sealed(seconds=240)
    forked.leave()
    bad, good = (forked.row("Snapshot", "pk", "status", "reason", domain=host) for host in ("bad.test", "good.test"))
    assert (bad["status"], bad["reason"]) == ("sealed", "worker_lost")
    assert (good["status"], good["reason"]) == ("sealed", "")
    assert {row["reason"] for row in forked.results(snapshot_id=bad["pk"]).values()} >= {"worker_lost"}


@pytest.mark.slow
def test_only_what_becomes_final_counts_as_progress(forked: Collection) -> None:
    """The steps before the deadly one are walked through again by each worker, past a daemon that runs all the time."""
    forked.plugin(
        "deadly",
        {
            "on_Snapshot__20_daemon.daemon.bg.sh": "echo ready\nsleep 600\n",
            "on_Snapshot__60_deadly.sh": 'echo died >> "$DATA_DIR/ledger"\nkill -9 $PPID $$\n',
        },
    )
    forked.watch()
    forked.wait_sealed(forked.add(), seconds=240)
    forked.leave()
    assert forked.row("Snapshot", "status", "reason") == {"status": "sealed", "reason": "worker_lost"}
    assert len(forked.ledger) <= 6


@pytest.mark.slow
def test_a_crawl_that_kills_its_workers_is_paused_and_the_others_continue(forked: Collection) -> None:
    forked.plugin(
        "deadly", {"on_Crawl__10_deadly.sh": 'case "$CRAWL_DIR" in *$(cat "$DATA_DIR/bad")*) kill -9 $PPID $$;; esac\n'}
    )
    forked.plugin("page", {"on_Snapshot__10_page.sh": "exit 0\n"})
    bad, good = forked.add("http://bad.test/"), forked.add("http://good.test/")
    (forked.root / "bad").write_text(bad)
    forked.watch()
    forked.wait(
        "the bad crawl paused", lambda: forked.row("Crawl", "status", pk=bad)["status"] == "paused", seconds=240
    )
    forked.wait_sealed(good, seconds=240)
    forked.leave()
    assert forked.row("Crawl", "reason", pk=bad)["reason"] == "worker_lost"
    assert forked.row("CrawlRun", "status", crawl_id=bad)["status"] == "sealed"
    assert forked.row("Snapshot", "status", crawl_id=bad)["status"] == "queued"


@pytest.mark.slow
def test_a_crawl_whose_end_kills_its_workers_is_ended_without(forked: Collection) -> None:
    """Each worker has it ready again first, which counts as progress of its pages alone."""
    forked.plugin("deadly", {"on_CrawlEnd__10_deadly.sh": 'echo died >> "$DATA_DIR/ledger"\nkill -9 $PPID $$\n'})
    forked.plugin(
        "holder",
        {
            "on_Crawl__10_holder.daemon.bg.sh": "echo ready\nsleep 600\n",
            "on_Snapshot__10_page.sh": "exit 0\n",
        },
    )
    crawl = forked.add()
    forked.watch()
    forked.wait("its run ended", lambda: forked.rows("CrawlRun", crawl_id=crawl, status="sealed"), seconds=120)
    forked.leave()
    assert forked.row("CrawlRun", "reason", crawl_id=crawl)["reason"] == "worker_lost"
    assert forked.row("Snapshot", "status", "reason") == {"status": "sealed", "reason": ""}
    assert len(forked.ledger) <= 6
