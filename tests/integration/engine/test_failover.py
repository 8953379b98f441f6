"""A standby that has not heard of the last seconds takes over from a database server: what they did is done again."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.engine.driver import FINAL, PATIENCE, REPOSITORY, Collection, collection, identity_of
from tests.integration.engine.test_sessions import LEDGER, browser
from tests.suite.packages import missing
from tests.suite.postgres import Cluster, cluster

pytestmark = [pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs"), pytest.mark.once]

PAGES = 24
STEPS = (1, 2, 3)
NOTE = 'sleep 0.3\necho "${SNAP_DIR##*/} $(basename $0)" >> "$DATA_DIR/ledger"\necho kept > kept\n'
UNTIL = 'until [ -e "$DATA_DIR/may-{}" ]; do sleep 0.05; done\n'
BROWSER = 'trap "exit 0" TERM\necho \'{"type":"Ready"}\'\nwhile :; do sleep 0.1; done\n'


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with cluster() as made:
        monkeypatch.setenv("DATABASE_URL", made.url)
        yield made


@pytest.fixture
def on_it(server: Cluster, tmp_path: Path) -> Iterator[Collection]:  # noqa: ARG001 - comes first
    with collection(tmp_path, WORKERS="2", ARCHIVEBOX_LEASE_SECONDS="3") as made:
        made.plugin("note", {f"on_Snapshot__{step}0_note.sh": NOTE for step in STEPS})
        made.plugin("browser", {"on_Crawl__10_browser.daemon.bg.sh": BROWSER})
        yield made


def fail_over(server: Cluster, on_it: Collection) -> None:
    on_it.forget_rows()
    server.fail_over()


def sealed(on_it: Collection) -> int:
    return len(on_it.rows("Snapshot", "pk", status="sealed"))


def test_pages_whose_last_seconds_were_lost_are_finished(server: Cluster, on_it: Collection) -> None:
    on_it.add(*(f"http://h{number}.test/" for number in range(PAGES)))
    on_it.watch()
    on_it.wait("the first pages", lambda: sealed(on_it) > 1)
    server.back_up()
    before = sealed(on_it)
    on_it.wait("pages that will be lost", lambda: sealed(on_it) > before + 2)
    fail_over(server, on_it)
    on_it.wait_sealed()
    on_it.leave()
    results = on_it.rows("ArchiveResult", "snapshot_id", "status", plugin="note")
    assert Counter(row["status"] for row in results) == {"succeeded": PAGES * len(STEPS)}
    assert {row["status"] for row in results} <= FINAL
    assert len(set(on_it.ledger)) == PAGES * len(STEPS)
    assert len(on_it.ledger) < PAGES * len(STEPS) * 2, "what was on record was not done again"


def test_what_a_worker_held_that_died_in_the_lost_seconds_is_finished(server: Cluster, on_it: Collection) -> None:
    """That it died, and that its pages were taken back, is lost: its lock file is gone, and the rows name it again."""
    on_it.add(*(f"http://h{number}.test/" for number in range(PAGES)))
    on_it.watch()
    on_it.wait("the first pages", lambda: sealed(on_it) > 1)
    server.back_up()
    for row in on_it.processes(worker_type="worker", status="running"):
        identity_of(row).signal(signal.SIGKILL)
    before = sealed(on_it)
    on_it.wait("pages that will be lost", lambda: sealed(on_it) > before + 2)
    fail_over(server, on_it)
    on_it.wait_sealed()
    on_it.leave()
    assert {row["status"] for row in on_it.rows("ArchiveResult", "status", plugin="note")} == {"succeeded"}
    assert len(set(on_it.ledger)) == PAGES * len(STEPS)


def test_who_waits_for_a_crawl_that_was_lost_is_told(server: Cluster, on_it: Collection) -> None:
    """Nothing of it runs on, though no row knows of it any more."""
    on_it.run(on_it.add())
    done = len(on_it.ledger)
    on_it.forget_rows()
    server.back_up()
    command = [sys.executable, "-m", "archivebox", "add", "--plugins", "note,browser", "http://h.test/"]
    add = subprocess.Popen(command, cwd=REPOSITORY, env=on_it.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    on_it.wait("its first hook", lambda: len(on_it.ledger) > done)
    fail_over(server, on_it)
    said = add.communicate(timeout=PATIENCE)[0].decode()
    assert add.returncode == 1, said
    assert "Add its URLs again" in said
    assert "Traceback" not in said
    on_it.wait_until_gone()
    on_it.check_nothing_left()


def test_a_hook_that_ran_as_its_lease_was_lost_runs_again(server: Cluster, on_it: Collection) -> None:
    """The copy knows that it runs, and not what its worker has committed since: that worker ends it."""
    once = 'echo "$0" >> "$DATA_DIR/ledger"\nuntil [ -e "$DATA_DIR/{}" ]; do sleep 0.05; done\n'
    hooks = {"on_Snapshot__10_long.finite.bg.sh": once.format("go"), "on_Snapshot__11_short.sh": once.format("noted")}
    on_it.plugin("waits", {**hooks, "on_Snapshot__20_next.sh": once.format("go")})
    on_it.settings["WORKERS"] = "1"
    on_it.add()
    on_it.watch()
    started = {"plugin": "waits", "status": "started", "process_id__isnull": False}
    on_it.wait("both on record", lambda: len(on_it.rows("ArchiveResult", "pk", **started)) == 2)
    server.back_up()
    (on_it.root / "noted").touch()
    on_it.wait("a commit", lambda: on_it.rows("ArchiveResult", "pk", hook_name="on_Snapshot__20_next.sh", **started))
    fail_over(server, on_it)
    on_it.wait("it runs again", lambda: sum("_long." in line for line in on_it.ledger) == 2)
    (on_it.root / "go").touch()
    on_it.wait_sealed()
    on_it.leave()
    results = on_it.rows("ArchiveResult", "hook_name", "status", "reason", plugin="waits")
    assert {(row["status"], row["reason"]) for row in results} == {("noresults", "")}


def test_a_tab_that_a_lost_run_has_navigated_is_opened_anew(server: Cluster, on_it: Collection) -> None:
    """Else its recording would have two loads of the page, and perhaps the end of neither."""
    browser(on_it, LEDGER + UNTIL.format("shoots") + "note shoots\n")
    on_it.plugin("gate", {"on_Snapshot__25_gate.sh": LEDGER + "note waits\n" + UNTIL.format("navigates")})
    on_it.add()
    on_it.watch()
    on_it.wait("an open tab", lambda: on_it.processes(hook_name="on_Snapshot__25_gate.sh", status="running"))
    server.back_up()
    (on_it.root / "may-navigates").touch()
    on_it.wait("a navigation that will be lost", lambda: on_it.processes(hook_name="on_Snapshot__51_shot.sh"))
    for row in on_it.processes(worker_type="worker", status="running"):
        identity_of(row).signal(signal.SIGKILL)
    fail_over(server, on_it)
    (on_it.root / "may-shoots").touch()
    on_it.wait_sealed()
    on_it.leave()
    said = [line for line in on_it.ledger if line in {"tab-opens", "navigates", "shoots"}]
    assert said[-3:] == ["tab-opens", "navigates", "shoots"]
