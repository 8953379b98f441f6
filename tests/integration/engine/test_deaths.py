"""A worker, or what it started, is killed at a chosen moment: its work goes on, with true exit codes, and once."""

import signal
import time

import pytest

from archivebox.lib.processes import wait_until_gone
from tests.integration.engine.driver import Collection, Row, identity_of
from tests.integration.engine.waiting import (
    BY_ITSELF,
    CODES,
    alive,
    begin,
    check_ends,
    codes,
    finish,
    on_record,
    once_each,
    one_alive,
)

pytestmark = pytest.mark.database


@pytest.mark.default
def test_live_hooks_of_a_dead_worker_are_adopted_with_their_true_exit_codes(each_mode: Collection) -> None:
    begin(each_mode)
    old = one_alive(each_mode, "worker")
    old.signal(signal.SIGKILL)
    each_mode.wait("another worker", lambda: [row for row in alive(each_mode, "worker") if identity_of(row) != old])
    each_mode.wait("taken over", lambda: each_mode.rows("Snapshot", "owner", owner__isnull=False))
    finish(each_mode)
    check_ends(each_mode)
    assert {row["status"] for name, row in each_mode.results().items() if name in CODES} == {"failed"}


@pytest.mark.default
def test_how_a_worker_died_is_on_record(forked: Collection) -> None:
    begin(forked)
    worker = one_alive(forked, "worker")
    worker.signal(signal.SIGKILL)
    ended = forked.wait(
        "its end", lambda: forked.rows("Process", "exit_code", "end_reason", pid=worker.pid, status="exited")
    )
    assert [(row["exit_code"], row["end_reason"]) for row in ended] == [(-signal.SIGKILL, "signalled")]
    finish(forked)


def test_hooks_that_are_told_to_end_together_with_their_worker_are_given_back(forked: Collection) -> None:
    """A shutdown, or a process manager, tells all at once; the hooks end first."""
    forked.settings["MAX_ATTEMPTS"] = "1"
    waits = 'echo {0} >> "$DATA_DIR/ledger"\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\necho kept > {0}.txt\n'
    files = {"front": "on_Snapshot__20_front.sh", "back": "on_Snapshot__21_back.finite.bg.sh"}
    forked.plugin("waits", {file: waits.format(name) for name, file in files.items()})
    forked.add()
    forked.watch()
    hooks = forked.wait("both", lambda: on_record(forked, len(files)))
    for name in files:
        forked.wait_ledger(name)
    worker = one_alive(forked, "worker")
    for identity in (*map(identity_of, hooks), worker):
        identity.signal(signal.SIGTERM)
    forked.wait("another worker", lambda: [row for row in alive(forked, "worker") if identity_of(row) != worker])
    (forked.root / "go").touch()
    finish(forked)
    ends = {name: [(row["exit_code"], row["end_reason"]) for row in forked.hooks(name)] for name in files}
    assert ends == {name: [(-signal.SIGTERM, "sealed"), (0, "exited")] for name in files}
    assert [row["status"] for row in forked.results().values()] == ["succeeded"] * 2


@pytest.mark.default
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
    check_ends(forked)


@pytest.mark.once
def test_ended_hooks_of_a_crawl_do_not_run_again_beside_an_adopted_one(forked: Collection) -> None:
    """One of them ends whatever browsers it finds, as a hook of an earlier ArchiveBox does."""
    note = 'echo {0} >> "$DATA_DIR/ledger"\n'
    browser = note.format("browser") + 'trap "exit 0" TERM\necho $$ > "$CRAWL_DIR/pid"\nwhile :; do sleep 0.1; done\n'
    hooks = {
        "on_Crawl__10_end_browsers.sh": note.format("before")
        + '[ ! -e "$CRAWL_DIR/pid" ] || kill $(cat "$CRAWL_DIR/pid")\n',
        "on_Crawl__20_browser.daemon.bg.sh": browser,
        "on_Crawl__30_wait.sh": note.format("after"),
    }
    page = note.format("page") + 'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\nkill -0 $(cat "$CRAWL_DIR/pid")\n'
    forked.plugin("browser", hooks)
    forked.plugin("page", {"on_Snapshot__20_page.sh": page})
    forked.add()
    forked.watch()
    forked.wait_ledger("page")
    holder = forked.row("CrawlRun", "owner")["owner"]
    one_alive(forked, "worker").signal(signal.SIGKILL)
    again = {"attempts": 0, "ready_at__isnull": False, "owner__isnull": False}
    forked.wait(
        "another is ready", lambda: [r for r in forked.rows("CrawlRun", "owner", **again) if r["owner"] != holder]
    )
    (forked.root / "go").touch()
    finish(forked)
    assert forked.ledger == ["before", "browser", "after", "page"]
    assert [row["end_reason"] for row in forked.hooks("browser")] == ["sealed"]
    assert forked.results()["page"]["status"] == "noresults"


@pytest.mark.once
def test_an_adopted_hook_that_never_gets_ready_is_not_waited_for_longer_than_another(forked: Collection) -> None:
    silent = 'echo begun >> "$DATA_DIR/ledger"\nexec sleep 600\n'
    forked.plugin("silent", {"on_Snapshot__10_silent.daemon.bg.sh": silent, "on_Snapshot__20_next.sh": "exit 0\n"})
    forked.add()
    forked.watch()
    forked.wait_ledger("begun")
    one_alive(forked, "worker").signal(signal.SIGKILL)
    finish(forked)
    assert forked.results()["next"]["status"] == "noresults"
    assert len(forked.hooks("silent")) == 1


def test_results_of_a_dead_worker_name_the_files_that_are_there(forked: Collection) -> None:
    moves = 'echo moves >> "$DATA_DIR/ledger"\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\nmv early late\n'
    forked.plugin("moved", {"on_Snapshot__20_early.sh": "echo word > early\n", "on_Snapshot__30_moves.sh": moves})
    forked.add()
    forked.watch()
    forked.wait_ledger("moves")
    one_alive(forked, "worker").signal(signal.SIGKILL)
    (forked.root / "go").touch()
    finish(forked)
    assert [list(row["output_files"]) for row in forked.results().values()] == [["late"]] * 2
    assert forked.row("Snapshot", "size")["size"] == len("word\n")


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


@pytest.mark.default
@pytest.mark.once  # holds SQLite's one writer up
@pytest.mark.parametrize("then", ["goes-on", "ends"])
def test_a_worker_killed_in_the_moment_of_a_start_starts_nothing_twice(forked: Collection, then: str) -> None:
    """A hook kills its worker when the spawn log names it, while the database takes no writer: no row knows of it."""
    waits = 'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n' if then == "goes-on" else ""
    hook = (
        'echo starts >> "$DATA_DIR/ledger"\n'
        'until grep -q "started.:.$ARCHIVEBOX_PROCESS_ID" "$DATA_DIR"/run/spawn/*.jsonl; do :; done\n'
        '[ -e "$DATA_DIR/killed" ] || kill -9 $PPID\ntouch "$DATA_DIR/killed"\n'
        f'{waits}echo ends >> "$DATA_DIR/ledger"\nexit 7\n'
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
    *lost, run = forked.hooks("kills")
    assert [row["end_reason"] for row in lost] == (["lost"] if forked.mode == "portable" else [])
    assert forked.ledger == ["starts", "ends"] * (1 + len(lost))
    assert (run["exit_code"], run["end_reason"]) == (7, "exited")
    result = forked.results()["kills"]
    assert (result["status"], result["process_id"]) == ("failed", run["pk"])
    assert len(forked.hooks("holds")) == 1


@pytest.mark.default
@pytest.mark.once
def test_forked_hooks_outlive_their_fork_server(forked: Collection) -> None:
    begin(forked)
    if forked.mode == "forked":
        one_alive(forked, "forkserver").signal(signal.SIGKILL)
    else:
        assert not forked.processes(worker_type="forkserver")
    finish(forked)
    assert codes(forked) == BY_ITSELF
    assert sorted(forked.ledger) == once_each()


@pytest.mark.once
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
    check_ends(forked)


@pytest.mark.default
def test_siblings_take_back_what_a_dead_worker_held(forked: Collection) -> None:
    """So many have died that their successor is long in coming, and the beat of the living one longer."""
    forked.settings["ARCHIVEBOX_LEASE_SECONDS"] = "600"
    begin(forked, workers=3)
    owner = owner_of_page(forked)
    sibling = beside(forked, {owner})[0]["pk"]
    for _ in range(4):
        killed = identity_of(beside(forked, {owner, sibling})[0])
        killed.signal(signal.SIGKILL)
        wait_until_gone(killed, 30)
    born = {row["pk"] for row in forked.processes(worker_type="worker")}
    identity_of(forked.processes(pk=owner)[0]).signal(signal.SIGKILL)
    forked.wait("taken over", lambda: owner_of_page(forked) not in {None, owner})
    assert owner_of_page(forked) == sibling
    assert {row["pk"] for row in forked.processes(worker_type="worker")} == born, "a successor took it back"
    finish(forked)
    assert codes(forked) == BY_ITSELF


def owner_of_page(made: Collection) -> str | None:
    owner: str | None = made.row("Snapshot", "owner", url="http://one.test/")["owner"]
    return owner


def beside(made: Collection, known: set[str | None]) -> list[Row]:
    """Living workers beside those that are known, once there is one."""
    return made.wait("a sibling", lambda: [row for row in alive(made, "worker") if row["pk"] not in known])
