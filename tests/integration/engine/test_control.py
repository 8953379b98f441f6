"""Pause, resume, cancel and stop, while hooks run: work is kept, nothing runs on, nothing is counted as a failure."""

import signal

import pytest

from tests.integration.engine.driver import Collection, identity_of
from tests.marks import first_by_default

pytestmark = pytest.mark.database

NOTE = 'note() { echo "$1" >> "$DATA_DIR/ledger"; }\n'
STUCK = NOTE + 'note stuck-starts\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\nnote stuck-ends\n'


def begin(made: Collection) -> str:
    """A crawl of one page whose first hook has ended and whose second runs until ``go`` is there."""
    made.plugin("first", {"on_Snapshot__10_first.sh": NOTE + "note first\n"})
    made.plugin(
        "stuck", {"on_Snapshot__20_stuck.sh": STUCK, "on_Snapshot__21_holder.daemon.bg.sh": "echo ready\nsleep 3600\n"}
    )
    made.plugin("last", {"on_Snapshot__30_last.sh": NOTE + "note last\n"})
    crawl = made.add()
    made.watch()
    made.wait_ledger("stuck-starts")
    return crawl


def item(made: Collection, model: str) -> str:
    key: str = made.row(model, "pk")["pk"]
    return key


def let_go(made: Collection) -> None:
    (made.root / "go").touch()


@pytest.mark.default
@first_by_default(1, "model", ["Snapshot", "Crawl"])
def test_pause_keeps_what_is_done_and_resume_goes_on(each_mode: Collection, model: str) -> None:
    begin(each_mode)
    key = item(each_mode, model)
    assert each_mode.actor.ask("control_item", event="pause", model=model, key=key)
    each_mode.wait("the pause", lambda: each_mode.row(model, "status", "owner")["status"] == "paused")
    each_mode.wait("no hook runs", lambda: not each_mode.processes(process_type="hook", status="running"))
    each_mode.wait("released", lambda: not each_mode.rows("Snapshot", "owner", owner__isnull=False))
    results = each_mode.results()
    assert results["first"]["status"] == "noresults"
    assert (results["stuck"]["status"], results["stuck"]["attempts"]) == ("queued", 0)
    let_go(each_mode)
    assert each_mode.actor.ask("control_item", event="resume", model=model, key=key)
    each_mode.wait_sealed()
    each_mode.leave()
    assert each_mode.ledger == ["first", "stuck-starts", "stuck-starts", "stuck-ends", "last"]
    assert {row["status"] for row in each_mode.results().values()} == {"noresults"}
    assert each_mode.row("Snapshot", "status")["status"] == "sealed"


@pytest.mark.default
def test_a_pause_survives_a_restart(forked: Collection) -> None:
    crawl = begin(forked)
    forked.actor.ask("control_item", event="pause", model="Crawl", key=crawl)
    forked.wait("the pause", lambda: forked.row("Crawl", "status")["status"] == "paused")
    forked.leave()
    let_go(forked)
    forked.plugin("other", {"on_Snapshot__10_other.sh": NOTE + "note other\n"})
    forked.names = ["other"]
    other = forked.add("http://other.test/")
    forked.run(other)
    assert forked.ledger == ["first", "stuck-starts", "other"]
    assert forked.row("Crawl", "status", pk=crawl)["status"] == "paused"


@pytest.mark.default
@first_by_default(1, "model", ["Crawl", "Snapshot"])
def test_cancel_ends_what_runs_and_nothing_of_it_starts_again(each_mode: Collection, model: str) -> None:
    begin(each_mode)
    assert each_mode.actor.ask("control_item", event="cancel", model=model, key=item(each_mode, model))
    each_mode.wait("cancelled", lambda: each_mode.row("Snapshot", "status")["status"] == "cancelled")
    each_mode.wait_sealed()
    each_mode.wait("the run of the crawl is over", lambda: each_mode.row("CrawlRun", "status")["status"] == "sealed")
    each_mode.leave()
    let_go(each_mode)
    results = each_mode.results()
    assert results["first"]["status"] == "noresults", "what is final stays"
    for name in ("stuck", "holder", "last"):
        assert (results[name]["status"], results[name]["reason"]) == ("skipped", "cancelled"), name
    assert each_mode.row("Snapshot", "reason")["reason"] == "cancelled"
    each_mode.watch()
    each_mode.plugin("other", {"on_Snapshot__10_other.sh": NOTE + "note other\n"})
    each_mode.names = ["other"]
    each_mode.wait_sealed(each_mode.add("http://other.test/"))
    each_mode.leave()
    assert [line for line in each_mode.ledger if line != "other"] == ["first", "stuck-starts"]


@pytest.mark.parametrize("model", ["Crawl", "Snapshot"])
def test_cancel_waits_for_no_deadline_of_what_was_told_to_end_before(each_mode: Collection, model: str) -> None:
    """A background hook has what is left of its own time once its page has ended, unless that is cancelled."""
    each_mode.settings |= {"TIMEOUT": "100000"}
    deaf = NOTE + 'trap "note told" TERM\nnote deaf-starts\nwhile :; do sleep 0.1; done\n'
    each_mode.plugin("deaf", {"on_Snapshot__10_deaf.bg.sh": deaf})
    each_mode.add()
    each_mode.watch()
    each_mode.wait_ledger("told")
    assert each_mode.actor.ask("control_item", event="cancel", model=model, key=item(each_mode, model))
    each_mode.wait("cancelled", lambda: each_mode.row("Snapshot", "status")["status"] == "cancelled")
    each_mode.wait("the run of the crawl is over", lambda: each_mode.row("CrawlRun", "status")["status"] == "sealed")
    each_mode.leave()
    assert not [row for row in each_mode.processes(process_type="hook") if identity_of(row).is_alive()]
    assert each_mode.ledger == ["deaf-starts", "told"], "it is told once"


@pytest.mark.default
def test_queued_snapshots_of_a_cancelled_crawl_never_start(forked: Collection) -> None:
    forked.plugin("page", {"on_Snapshot__10_page.sh": NOTE + "note page\n"})
    crawl = forked.add(*[f"http://h{n}.test/" for n in range(30)])
    forked.actor.ask("control_item", event="cancel", model="Crawl", key=crawl)
    forked.watch()
    forked.wait("all cancelled", lambda: {row["status"] for row in forked.rows("Snapshot", "status")} == {"cancelled"})
    forked.leave()
    assert forked.ledger == []


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_who_watches_is_told_to_stop_and_work_is_kept(each_mode: Collection, signum: signal.Signals) -> None:
    begin(each_mode)
    running = each_mode.processes(process_type="hook", status="running")
    each_mode.leave(signum)
    assert not [row for row in running if identity_of(row).is_alive()]
    assert each_mode.row("Snapshot", "status", "attempts") == {"status": "queued", "attempts": 0}
    assert {row["status"] for row in each_mode.results().values()} == {"noresults", "queued"}
    let_go(each_mode)
    each_mode.run()
    assert each_mode.ledger == ["first", "stuck-starts", "stuck-starts", "stuck-ends", "last"]
    assert {row["attempts"] for row in each_mode.results().values()} == {1}


def test_a_snapshot_cancelled_before_its_worker_was_killed_ends_cancelled(forked: Collection) -> None:
    begin(forked)
    worker = identity_of(forked.processes(worker_type="worker", status="running")[0])
    worker.signal(signal.SIGSTOP)
    snapshot = item(forked, "Snapshot")
    assert forked.actor.ask("ask_without_ring", model="Snapshot", key=snapshot, request="cancel") == 1
    worker.signal(signal.SIGKILL)
    forked.wait("cancelled", lambda: forked.row("Snapshot", "status")["status"] == "cancelled")
    forked.wait_sealed()
    forked.leave()
    let_go(forked)
    assert forked.ledger == ["first", "stuck-starts"]
    assert forked.results()["stuck"]["reason"] == "cancelled"


@pytest.mark.parametrize("model", ["Crawl", "Snapshot"])
def test_what_was_paused_and_then_cancelled_has_ended(forked: Collection, model: str) -> None:
    forked.plugin("moody", {"on_Snapshot__05_moody.sh": "exit 1\n"})
    begin(forked)
    key = item(forked, model)
    forked.actor.ask("control_item", event="pause", model=model, key=key)
    forked.wait("the pause", lambda: not forked.rows("Snapshot", "owner", owner__isnull=False))
    forked.wait("paused", lambda: forked.row(model, "status")["status"] == "paused")
    assert forked.results()["moody"]["status"] == "backoff"
    assert forked.actor.ask("control_item", event="cancel", model=model, key=key)
    forked.wait_sealed()
    forked.wait("cancelled", lambda: forked.row("Snapshot", "status")["status"] == "cancelled")
    forked.leave()
    assert forked.actor.ask("update_all") == 0, "what was cancelled is not tried again"
    results = forked.results()
    assert results.pop("first")["status"] == "noresults", "what is final stays"
    assert {(row["status"], row["reason"]) for row in results.values()} == {("skipped", "cancelled")}


def test_no_retry_of_a_sealed_page_outlives_its_crawl(forked: Collection) -> None:
    """A page of a crawl at work has ended but for a retry; then the crawl is cancelled."""
    forked.plugin("moody", {"on_Snapshot__10_moody.sh": '[ -n "${1##*one.test*}" ] || exit 1\n' + STUCK})
    crawl = forked.add("http://one.test/", "http://two.test/")
    forked.watch()
    forked.wait_ledger("stuck-starts")
    page = {"url": "http://one.test/"}
    forked.wait("the first page waits", lambda: forked.row("Snapshot", "status", **page)["status"] == "sealed")
    assert forked.actor.ask("control_item", event="cancel", model="Crawl", key=crawl)
    forked.wait("cancelled", lambda: forked.rows("Snapshot", "pk", status="cancelled"))
    forked.wait("nothing waits", lambda: not forked.rows("ArchiveResult", "pk", status="backoff"))
    forked.leave()
    assert forked.row("Snapshot", "status", "retry_at", **page) == {"status": "sealed", "retry_at": None}
    assert forked.actor.ask("update_all") == 0
