"""What was started and is adopted by nobody is ended, and its row says so: no hook outlives what it serves."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from archivebox.base_models.rows import new_id
from archivebox.lib.processes import SpawnLog
from tests.integration.engine.driver import Collection, Row
from tests.integration.engine.waiting import finish, one_alive

pytestmark = pytest.mark.database

WAITS = 'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n'
HOLDS = "trap 'exit 0' TERM\necho ready\nwhile :; do sleep 0.05; done\n"


def test_the_daemon_of_a_plugin_that_has_gone_is_ended_by_whoever_takes_its_crawl(forked: Collection) -> None:
    forked.plugin("gone", {"on_Crawl__10_gone.daemon.bg.sh": HOLDS})
    forked.plugin("page", {"on_Snapshot__20_page.sh": WAITS})
    forked.add()
    watcher = forked.watch()
    forked.wait("the page at work", lambda: forked.hooks("page"))
    shutil.rmtree(forked.root / "plugins" / "gone")
    orchestrator, worker = one_alive(forked, "orchestrator"), one_alive(forked, "worker")
    worker.signal(signal.SIGSTOP)  # else it would put everything down
    watcher.kill()
    orchestrator.signal(signal.SIGKILL)
    worker.signal(signal.SIGKILL)
    forked.watch()
    finish(forked)
    (daemon,) = forked.hooks("gone")
    assert daemon["end_reason"] == "sealed"


def test_of_two_runs_of_a_daemon_the_later_is_adopted_and_the_other_ended(forked: Collection) -> None:
    """A worker starts a daemon again that somebody has killed, and dies before the end of that one is on record."""
    forked.plugin("holds", {"on_Crawl__10_holds.daemon.bg.sh": HOLDS})
    forked.plugin("page", {"on_Snapshot__20_page.sh": WAITS})
    forked.add()
    forked.watch()
    forked.wait("the page at work", lambda: forked.hooks("page"))
    worker, (first,) = one_alive(forked, "worker"), forked.hooks("holds")
    worker.signal(signal.SIGSTOP)
    with started_by(forked, first) as second:
        worker.signal(signal.SIGKILL)
        finish(forked)
        assert second.wait(60) == 0
    assert [row["end_reason"] for row in forked.hooks("holds")] == ["sealed", "sealed"]


@contextmanager
def started_by(made: Collection, run: Row) -> Iterator["subprocess.Popen[bytes]"]:
    """Another run of a hook, of which only its worker's log of starts knows."""
    (row,) = made.rows("Process", "machine_id", "parent_id", "process_type", "plugin", *MORE_COLUMNS, pk=run["pk"])
    key = str(new_id())
    log = SpawnLog(next((made.root / "run" / "spawn").glob(f"{row['parent_id']}*")))
    log.intent(key, row)
    marks = {"ARCHIVEBOX_PROCESS_ID": key, "DATA_DIR": str(made.root)}
    process = subprocess.Popen(row["cmd"], env=os.environ | marks, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        log.close()


MORE_COLUMNS = ("hook_name", "cmd", "pwd", "timeout", "crawl_id")


def test_a_hook_of_the_end_that_was_left_running_is_ended_and_runs_anew(forked: Collection) -> None:
    forked.plugin("end", {"on_Snapshot__20_page.sh": "exit 0\n", "on_SnapshotEnd__10_end.sh": WAITS})
    forked.add()
    forked.watch()
    forked.wait("the last hook at work", lambda: forked.hooks("end"))
    one_alive(forked, "worker").signal(signal.SIGKILL)
    forked.wait("it runs anew", lambda: len(forked.hooks("end")) == 2)
    finish(forked)
    former, latter = forked.hooks("end")
    assert former["end_reason"] == "sealed"
    assert (latter["end_reason"], latter["exit_code"]) == ("exited", 0)


@pytest.mark.default
@pytest.mark.once
def test_who_bears_a_mark_of_ours_is_gone_when_the_last_orchestrator_is(forked: Collection) -> None:
    """Here it never was a child of ours, as what outlived a death of all of us in one moment."""
    forked.plugin("page", {"on_Snapshot__20_page.sh": "exit 0\n"})
    forked.add()
    forked.watch()
    forked.wait_sealed()
    (ended,) = forked.hooks("page")
    marks = {"ARCHIVEBOX_PROCESS_ID": str(ended["pk"]), "DATA_DIR": str(forked.root)}
    stray = subprocess.Popen(["sleep", "600"], env=os.environ | marks)
    try:
        forked.leave()
        assert stray.wait(60) == -signal.SIGTERM
    finally:
        stray.kill()
