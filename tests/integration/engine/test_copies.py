"""A copied or restored collection is another one: it goes on with its rows, and leaves others' processes be."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.engine.driver import Collection, collection, identity_of
from tests.integration.engine.waiting import begin, finish, on_record, once_each, runs

pytestmark = [pytest.mark.database, pytest.mark.once]  # what is copied is the folder, and with it SQLite's file

DAEMON = 'trap "exit 0" TERM\necho up\nwhile :; do sleep 0.05; done\n'


@contextmanager
def copied(made: Collection, base: Path) -> Iterator[Collection]:
    """What ``cp -a`` makes of a collection at work."""
    with collection(base, made.mode, **made.settings) as copy:
        shutil.rmtree(copy.root)
        subprocess.run(["/bin/cp", "-a", str(made.root), str(copy.root)], check=True)
        copy.names = list(made.names)
        yield copy


def test_a_copy_of_a_collection_at_work_leaves_its_hooks_alone(forked: Collection, tmp_path: Path) -> None:
    forked.plugin(
        "browser",
        {"on_Crawl__01_browser.daemon.bg.sh": DAEMON},
        config={"x-hooks": {"on_Crawl__01_browser.daemon.bg.sh": {"ready": True}}},
    )
    begin(forked)
    forked.wait("all on record", lambda: len(forked.processes(process_type="hook", status="running")) == 4)
    everybody = forked.processes(status="running")
    hooks = {identity_of(row) for row in everybody if row["process_type"] == "hook"}
    with copied(forked, tmp_path / "copy") as copy:
        (copy.root / "ledger").unlink()
        copy.watch(MAX_ATTEMPTS="3")  # a hook that is lost has failed, and is tried again
        copy.wait("a run of its own", lambda: copy.actor.ask("time_has_come") < 9 and "front-starts" in copy.ledger)
        former = {row["pk"] for row in forked.processes()}
        ended = [row for row in copy.processes() if row["pk"] in former]
        assert {row["status"] for row in ended} == {"exited"}
        assert {row["end_reason"] for row in ended if identity_of(row) in hooks} == {"lost"}
        assert not hooks & {identity_of(row) for row in copy.processes(status="running")}
        (copy.root / "go").touch()
        copy.wait_sealed()
        copy.leave()
    assert all(runs(identity_of(row)) for row in everybody)
    finish(forked)
    assert sorted(forked.ledger) == once_each()


def test_a_backup_without_run_goes_on(forked: Collection) -> None:
    """Killed at work, and only what is worth a backup was kept: no locks, no logs of starts, no machine's name."""
    begin(forked)
    forked.wait("all on record", lambda: on_record(forked))
    watcher = forked.watchers.pop()
    for identity in forked.live():
        identity.signal(9)
    watcher.kill()
    watcher.wait()
    forked.wait("all are gone", lambda: not forked.live())
    shutil.rmtree(forked.root / "run")
    (forked.root / "go").touch()
    forked.watch()
    forked.wait_sealed()
    forked.leave()
    assert {row["status"] for row in forked.results().values()} == {"noresults", "failed"}
    assert not forked.rows("CrawlRun", "status", status="started")
