"""One of ours is killed at a chosen moment: what it held goes on, with true exit codes, and nothing runs twice."""

import signal
import time

import pytest

from archivebox.lib.processes import Identity, wait_gone
from tests.integration.engine.driver import Collection, Row, identity_of

pytestmark = pytest.mark.database

WAITS = """
import os, sys, time
def note(word):
    fd = os.open(os.environ["DATA_DIR"] + "/ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, word.encode() + b"\\n")
note("{name}-starts")
while not os.path.exists(os.environ["DATA_DIR"] + "/go"):
    time.sleep(0.02)
note("{name}-ends")
sys.exit({code})
"""
CODES = {"front": 7, "back": 8, "shell": 9}
BY_ITSELF = {name: (code, "exited") for name, code in CODES.items()}


def begin(made: Collection, *, workers: int = 1) -> None:
    """Three hooks that wait for ``go`` and end in statuses of their own: Python and shell, fore- and background."""
    made.settings |= {"MAX_ATTEMPTS": "1", "TIMEOUT": "600"}
    made.plugin("before", {"on_Snapshot__10_before.sh": 'echo before >> "$DATA_DIR/ledger"\n'})
    made.plugin(
        "waits",
        {
            "on_Snapshot__20_front.py": WAITS.format(name="front", code=CODES["front"]),
            "on_Snapshot__21_back.finite.bg.py": WAITS.format(name="back", code=CODES["back"]),
            "on_Snapshot__22_shell.sh": (
                'note() { echo "$1" >> "$DATA_DIR/ledger"; }\nnote shell-starts\n'
                f'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\nnote shell-ends\nexit {CODES["shell"]}\n'
            ),
        },
    )
    made.plugin("after", {"on_Snapshot__30_after.sh": 'echo after >> "$DATA_DIR/ledger"\n'})
    made.add()
    if workers > 1:
        made.watch_with(workers)
    else:
        made.watch()
    for name in CODES:
        made.wait_ledger(f"{name}-starts")
    made.wait("what has ended is on record", lambda: made.results()["before"]["status"] == "noresults")


def alive(made: Collection, kind: str) -> list[Row]:
    rows = made.processes(worker_type=kind) if kind in {"worker", "forkserver"} else made.processes(process_type=kind)
    return [row for row in rows if row["pid"] and runs(identity_of(row))]


def runs(identity: Identity) -> bool:
    """A zombie does not: who reaps an orphan, and when, is pid 1's affair where we are no subreaper."""
    return identity.is_alive() and not identity.is_zombie()


def on_record(made: Collection, count: int = len(CODES)) -> list[Row]:
    """The rows of the hooks that wait, once each has one."""
    rows = made.processes(process_type="hook", status="running")
    return rows if len(rows) == count else []


def one_alive(made: Collection, kind: str) -> Identity:
    (row,) = made.wait(f"one live {kind}", lambda: alive(made, kind))
    return identity_of(row)


def codes(made: Collection) -> dict[str, tuple[int | None, str]]:
    return {name: (made.hooks(name)[-1]["exit_code"], made.hooks(name)[-1]["end_reason"]) for name in CODES}


def finish(made: Collection) -> None:
    (made.root / "go").touch()
    made.wait_sealed()
    made.leave()


def once_each() -> list[str]:
    return sorted(["before", "after", *(f"{name}-{word}" for name in CODES for word in ("starts", "ends"))])


def test_live_hooks_of_a_dead_worker_are_adopted_with_their_true_exit_codes(each_mode: Collection) -> None:
    begin(each_mode)
    old = one_alive(each_mode, "worker")
    old.signal(signal.SIGKILL)
    each_mode.wait("another worker", lambda: [row for row in alive(each_mode, "worker") if identity_of(row) != old])
    each_mode.wait("taken over", lambda: each_mode.rows("Snapshot", "owner", owner__isnull=False))
    finish(each_mode)
    if each_mode.mode == "portable":  # where nobody is a subreaper, nobody sees how another's child ended
        assert {each_mode.hooks(name)[0]["end_reason"] for name in CODES} == {"lost"}
        return
    assert sorted(each_mode.ledger) == once_each()
    assert codes(each_mode) == BY_ITSELF
    assert {row["status"] for name, row in each_mode.results().items() if name in CODES} == {"failed"}


def test_hooks_that_end_while_no_worker_lives_keep_their_exit_codes(forked: Collection) -> None:
    """All workers are held still, and killed, after which the hooks end before another worker can look."""
    begin(forked)
    worker = one_alive(forked, "worker")
    worker.signal(signal.SIGSTOP)
    (forked.root / "go").touch()
    for name in CODES:
        forked.wait_ledger(f"{name}-ends")
    worker.signal(signal.SIGKILL)
    finish(forked)
    assert codes(forked) == BY_ITSELF
    assert sorted(forked.ledger) == once_each()


HOLDS_DATABASE = """
import os, sqlite3, time
database = sqlite3.connect(os.environ["DATA_DIR"] + "/index.sqlite3", timeout=60, isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("ready", flush=True)
while not os.path.exists(os.environ["DATA_DIR"] + "/killed"):
    time.sleep(0.01)
database.rollback()
time.sleep(3600)
"""


@pytest.mark.once  # holds SQLite's one writer up
@pytest.mark.parametrize("then", ["goes-on", "ends"])
def test_a_worker_killed_in_the_moment_of_a_start_starts_nothing_twice(forked: Collection, then: str) -> None:
    """A hook kills its worker when the spawn log names it, while the database takes no writer: no row knows of it."""
    waits = 'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n' if then == "goes-on" else ""
    hook = (
        'echo starts >> "$DATA_DIR/ledger"\n'
        'until grep -q "started.:.$ARCHIVEBOX_PROCESS_ID" "$DATA_DIR"/run/spawn/*.jsonl; do :; done\n'
        f'kill -9 $PPID\ntouch "$DATA_DIR/killed"\n{waits}echo ends >> "$DATA_DIR/ledger"\nexit 7\n'
    )
    forked.settings["MAX_ATTEMPTS"] = "1"
    forked.plugin("kills", {"on_Snapshot__20_holds.daemon.bg.py": HOLDS_DATABASE, "on_Snapshot__21_kills.sh": hook})
    forked.add()
    forked.watch()
    forked.wait_ledger("starts")
    if then == "goes-on":
        forked.wait("taken over", lambda: forked.results()["kills"]["status"] == "started")
        (forked.root / "go").touch()
    forked.wait_sealed()
    forked.leave()
    assert forked.ledger == ["starts", "ends"]
    (run,) = forked.hooks("kills")
    assert (run["exit_code"], run["end_reason"]) == (7, "exited")
    result = forked.results()["kills"]
    assert (result["status"], result["process_id"]) == ("failed", run["pk"])
    assert len(forked.hooks("holds")) == 1


def test_forked_hooks_outlive_their_fork_server(forked: Collection) -> None:
    begin(forked)
    one_alive(forked, "forkserver").signal(signal.SIGKILL)
    finish(forked)
    assert codes(forked) == BY_ITSELF
    assert sorted(forked.ledger) == once_each()


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


def test_when_who_watches_is_killed_the_rest_ends_by_itself(each_mode: Collection) -> None:
    begin(each_mode)
    (watcher,) = each_mode.watchers
    watcher.kill()
    watcher.wait()
    each_mode.wait_gone()
    assert {row["status"] for row in each_mode.results().values()} == {"noresults", "queued"}
    each_mode.watchers.clear()
    each_mode.watch()
    finish(each_mode)
    for name in CODES:
        assert each_mode.ledger.count(f"{name}-ends") == 1


def test_all_killed_in_one_moment_then_one_start_finishes_everything(each_mode: Collection) -> None:
    begin(each_mode)
    everything = [*each_mode.live(), Identity.of(each_mode.watchers[0].pid)]
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
    hooks = {identity_of(row) for row in forked.wait("all on record", lambda: on_record(forked))}
    everything = {*forked.live(), Identity.of(forked.watchers[0].pid)} - hooks
    for signum in (signal.SIGSTOP, signal.SIGKILL):  # held first: who is left for a moment starts or ends nothing
        for identity in everything:
            assert identity is not None
            identity.signal(signum)
    forked.watchers.pop().wait()
    forked.watch()
    forked.wait("taken over", lambda: forked.rows("Snapshot", "owner", owner__isnull=False))
    finish(forked)
    for name, code in CODES.items():
        first = next(row for row in forked.hooks(name) if identity_of(row) in hooks)
        assert first["end_reason"] in {"exited", "lost"}, "what still runs is adopted, not ended"
        assert first["exit_code"] in {code, None}, "pid 1 reaped it; before Linux 6.15 nobody can know"
        assert len(forked.hooks(name)) == (1 if first["exit_code"] == code else 2)


DAEMON = """
import os, selectors
from archivebox.plugins.base import StopRequest
from archivebox.plugins.base.lifeline import end_with_engine
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


def test_the_time_of_an_adopted_hook_is_told_by_the_kernel(forked: Collection) -> None:
    """By the wall clock, which was set, the hooks would have run for hours."""
    begin(forked)
    forked.wait("all on record", lambda: on_record(forked))
    owner = forked.row("Snapshot", "owner")["owner"]
    worker = identity_of(forked.processes(pk=owner)[0])
    worker.signal(signal.SIGSTOP)
    forked.actor.ask("clock_went_back", hours=5)
    worker.signal(signal.SIGKILL)
    forked.wait("taken over", lambda: forked.row("Snapshot", "owner")["owner"] not in {None, owner})
    time.sleep(0.5)  # a hook whose time were over would be ended now
    finish(forked)
    assert codes(forked) == BY_ITSELF


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
    everything = {*forked.live(), Identity.of(watcher.pid)} - hooks
    for signum in (signal.SIGSTOP, signal.SIGKILL):
        for identity in everything:
            assert identity is not None
            identity.signal(signum)
    watcher.wait()
    forked.wait_ledger("daemon-ends")
    forked.watch()
    finish(forked)


def test_a_worker_held_still_beyond_its_lease_neither_loses_nor_doubles(forked: Collection) -> None:
    forked.settings["ARCHIVEBOX_LEASE_SECONDS"] = "3"
    forked.settings["WORKERS"] = "2"
    begin(forked)
    owner = forked.row("Snapshot", "owner")["owner"]
    worker = identity_of(forked.processes(pk=owner)[0])
    worker.signal(signal.SIGSTOP)
    lease = forked.row("Snapshot", "retry_at")["retry_at"]
    time.sleep(1.5)
    worker.signal(signal.SIGCONT)
    forked.wait("its lease is renewed", lambda: forked.row("Snapshot", "retry_at")["retry_at"] > lease)
    worker.signal(signal.SIGSTOP)
    forked.wait("it is taken for hung and killed", lambda: not worker.is_alive())
    forked.wait("taken over", lambda: forked.row("Snapshot", "owner")["owner"] not in {None, owner})
    finish(forked)
    assert sorted(forked.ledger) == once_each()
    assert codes(forked) == BY_ITSELF


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


def test_siblings_take_back_what_a_dead_worker_held(forked: Collection) -> None:
    """So many have died that their successor is long in coming, and the beat of the living one longer."""
    forked.settings["ARCHIVEBOX_LEASE_SECONDS"] = "600"
    begin(forked, workers=2)
    owner = owner_of_page(forked)
    for _ in range(4):
        killed = identity_of(other_than(forked, owner))
        killed.signal(signal.SIGKILL)
        wait_gone(killed, 30)
    sibling = other_than(forked, owner)
    identity_of(forked.processes(pk=owner)[0]).signal(signal.SIGKILL)
    forked.wait("taken over", lambda: owner_of_page(forked) not in {None, owner})
    assert owner_of_page(forked) == sibling["pk"]
    finish(forked)
    assert codes(forked) == BY_ITSELF


def owner_of_page(made: Collection) -> str | None:
    owner: str | None = made.row("Snapshot", "owner", url="http://one.test/")["owner"]
    return owner


def other_than(made: Collection, owner: str | None) -> Row:
    """The living worker beside ``owner``, once there is one."""
    (row,) = made.wait("a sibling", lambda: [row for row in alive(made, "worker") if row["pk"] != owner])
    return row


DEAF = """#!/bin/bash
trap 'echo told >> "$DATA_DIR/ledger"' TERM
echo starts >> "$DATA_DIR/ledger"
while :; do sleep 0.1; done
"""


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
    assert (run["exit_code"], run["end_reason"]) == (-signal.SIGKILL, "signalled")


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
def test_a_crawl_that_kills_its_workers_is_paused_with_the_reason_and_the_others_go_on(forked: Collection) -> None:
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
