"""An orchestrator dies, or all of ours at once, or it winds down: what was begun is finished, and nothing is left."""

import signal
import time

import pytest

from archivebox.lib.processes import ProcessIdentity
from tests.integration.engine.driver import Collection, identity_of
from tests.integration.engine.waiting import BY_ITSELF, CODES, alive, begin, codes, finish, on_record, one_alive, runs

pytestmark = pytest.mark.database


@pytest.mark.default
def test_a_dead_orchestrator_is_replaced_and_all_is_finished(each_mode: Collection) -> None:
    begin(each_mode)
    old = one_alive(each_mode, "orchestrator")
    workers = [identity_of(row) for row in alive(each_mode, "worker")]
    old.signal(signal.SIGKILL)
    each_mode.wait(
        "another orchestrator", lambda: [r for r in alive(each_mode, "orchestrator") if identity_of(r) != old]
    )
    each_mode.wait("its workers are gone", lambda: not any(map(runs, workers)))
    finish(each_mode)
    assert {(row["status"], row["attempts"]) for row in each_mode.results(attempts__gt=0).values()} >= {("failed", 1)}
    for name, code in CODES.items():
        assert each_mode.ledger.count(f"{name}-ends") == 1
        assert each_mode.hooks(name)[-1]["exit_code"] == code


@pytest.mark.default
def test_when_who_watches_is_killed_the_rest_ends_by_itself(each_mode: Collection) -> None:
    begin(each_mode)
    (watcher,) = each_mode.watchers
    watcher.kill()
    watcher.wait()
    each_mode.wait_until_gone()
    assert {row["status"] for row in each_mode.results().values()} == {"noresults", "queued"}
    each_mode.watchers.clear()
    each_mode.watch()
    finish(each_mode)
    for name in CODES:
        assert each_mode.ledger.count(f"{name}-ends") == 1


@pytest.mark.default
def test_all_killed_in_one_moment_then_one_start_finishes_everything(each_mode: Collection) -> None:
    begin(each_mode)
    everything = [*each_mode.live(), ProcessIdentity.of(each_mode.watchers[0].pid)]
    for signum in (signal.SIGSTOP, signal.SIGKILL):  # held still first: nobody sees another one die
        for identity in everything:
            assert identity is not None
            identity.signal(signum)
    each_mode.watchers.pop().wait()
    each_mode.wait("all are gone", lambda: not each_mode.live())
    each_mode.watch(MAX_ATTEMPTS="3")  # a hook that somebody kills has failed, and is tried again
    (each_mode.root / "go").touch()
    each_mode.wait_sealed()
    each_mode.actor.ask("time_has_come")
    for name in CODES:
        each_mode.wait_ledger(f"{name}-ends")
    each_mode.wait_sealed()
    each_mode.leave()
    for name, code in CODES.items():
        *earlier, last = [row["exit_code"] for row in each_mode.hooks(name)]
        assert last == code
        assert earlier
        assert set(earlier) <= {-signal.SIGKILL, None, code}
    assert each_mode.ledger.count("before") == each_mode.ledger.count("after") == 1


def test_all_but_the_hooks_killed_then_one_start_adopts_or_ends_them(forked: Collection) -> None:
    begin(forked)
    rows = {row["pk"]: identity_of(row) for row in forked.wait("all on record", lambda: on_record(forked))}
    everything = {*forked.live(), ProcessIdentity.of(forked.watchers[0].pid)} - set(rows.values())
    for signum in (signal.SIGSTOP, signal.SIGKILL):  # held first: who is left for a moment starts or ends nothing
        for identity in everything:
            assert identity is not None
            identity.signal(signum)
    forked.watchers.pop().wait()
    forked.watch()
    forked.wait("taken over", lambda: forked.rows("Snapshot", "owner", owner__isnull=False))
    finish(forked)
    for name, code in CODES.items():
        first = next(row for row in forked.hooks(name) if row["pk"] in rows)
        assert first["end_reason"] in {"exited", "lost"}, "what still runs is adopted, not ended"
        assert first["exit_code"] in {code, None}, "pid 1 reaped it; before Linux 6.15 nobody can know"
        assert len(forked.hooks(name)) == (1 if first["exit_code"] == code else 2)


DAEMON = """
import os, selectors
from archivebox.plugins.base import StopRequest
from archivebox.plugins.base.engine import end_with_engine
def note(word):
    fd = os.open(os.environ["DATA_DIR"] + "/ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, word.encode() + b"\\n")
stop = StopRequest()
end_with_engine()
note("daemon-starts")
with selectors.DefaultSelector() as selector:
    selector.register(stop, selectors.EVENT_READ)
    while not stop:
        selector.select()
note("daemon-ends")
"""


@pytest.mark.once
@pytest.mark.parametrize("mode", ["forked", "cold"])
def test_a_daemon_of_ours_ends_with_the_last_of_the_engine(forked: Collection, mode: str) -> None:
    forked.mode = mode
    forked.plugin("holds", {"on_Snapshot__15_holds.daemon.bg.py": DAEMON})
    begin(forked)
    forked.wait_ledger("daemon-starts")
    hooks = {identity_of(row) for row in forked.wait("all on record", lambda: on_record(forked, 4))}
    one_alive(forked, "worker").signal(signal.SIGKILL)
    forked.wait("taken over", lambda: alive(forked, "worker") and forked.rows("Snapshot", "pk", owner__isnull=False))
    assert "daemon-ends" not in forked.ledger, "it goes on with the next worker"
    watcher = forked.watchers.pop()
    everything = {*forked.live(), ProcessIdentity.of(watcher.pid)} - hooks
    for signum in (signal.SIGSTOP, signal.SIGKILL):
        for identity in everything:
            assert identity is not None
            identity.signal(signum)
    watcher.wait()
    forked.wait_ledger("daemon-ends")
    forked.watch()
    finish(forked)


def test_an_orchestrator_held_still_kills_nobody_when_it_goes_on(forked: Collection) -> None:
    """Its workers' signs of life are in their sockets, or they were held still as well: a suspended machine."""
    forked.settings["ARCHIVEBOX_LEASE_SECONDS"] = "3"
    begin(forked)
    orchestrator, worker = one_alive(forked, "orchestrator"), one_alive(forked, "worker")
    for held in ([orchestrator], [orchestrator, worker]):
        for identity in held:
            identity.signal(signal.SIGSTOP)
        time.sleep(4)
        for identity in held:
            identity.signal(signal.SIGCONT)
        time.sleep(2)
        assert one_alive(forked, "worker") == worker
    finish(forked)
    assert len(forked.processes(worker_type="worker")) == 1
    assert codes(forked) == BY_ITSELF


DEAF = """#!/bin/bash
trap 'echo told >> "$DATA_DIR/ledger"' TERM
echo starts >> "$DATA_DIR/ledger"
while :; do sleep 0.1; done
"""


@pytest.mark.default
def test_a_second_interrupt_ends_everything_at_once_and_on_record(forked: Collection) -> None:
    forked.settings |= {"STOP_GRACE": "60", "TIMEOUT": "600"}
    forked.plugin("deaf", {"on_Snapshot__20_deaf.sh": DEAF})
    forked.add()
    watcher = forked.watch()
    forked.wait_ledger("starts")
    watcher.send_signal(signal.SIGINT)
    forked.wait_ledger("told")
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(60) == 128 + signal.SIGINT
    forked.watchers.clear()
    assert not forked.live()
    assert not forked.processes(status="running")
    assert forked.row("Snapshot", "status", "owner") == {"status": "started", "owner": None}
    assert not list((forked.root / "run" / "workers").iterdir())
    (run,) = forked.hooks("deaf")
    ends = {(-signal.SIGKILL, "sealed"), (-signal.SIGKILL, "signalled")}  # its worker saw it die, or who came after
    unseen = {(None, "lost")} if forked.mode == "portable" else set()  # where who comes after is no subreaper
    assert (run["exit_code"], run["end_reason"]) in ends | unseen


def test_who_comes_while_an_orchestrator_winds_down_begins_when_it_has_ended(forked: Collection) -> None:
    """Nobody looks again by itself within the hour: each release is told of, one by a kill as well."""
    forked.settings |= {"STOP_GRACE": "3", "TIMEOUT": "600", "MAX_ATTEMPTS": "1"}
    forked.plugin("deaf", {"on_Snapshot__20_deaf.sh": DEAF})
    forked.add()
    first = forked.watch(POLL_EVERY="3600")
    forked.wait_ledger("starts")
    old = one_alive(forked, "orchestrator")
    first.send_signal(signal.SIGINT)
    forked.wait_ledger("told")
    forked.watch(POLL_EVERY="3600")
    assert first.wait(60) == 128 + signal.SIGINT
    forked.wait("another begins", lambda: forked.ledger.count("starts") == 2, seconds=60)
    assert not runs(old)
    forked.watch(POLL_EVERY="3600")
    forked.watchers[1].kill()
    one_alive(forked, "orchestrator").signal(signal.SIGKILL)
    forked.wait("the third goes on", lambda: forked.ledger.count("starts") == 3, seconds=60)
    forked.leave()
