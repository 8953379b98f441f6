"""A disk that is full or cannot be written: the engine waits, says so once, and goes on by itself; nothing is lost."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from archivebox.base_models.transient import FULL, READ_ONLY, transient_problem
from archivebox.workers.queue.disk_space import DiskSpaceGuard
from tests.integration.engine.disks import Disk, small_disk
from tests.integration.engine.driver import REPOSITORY, Collection, collection, identity_of, wait_for
from tests.old_collection import SECOND, make_old_collection
from tests.webserver.server import free_ports

PAGES = 6
HOOKS = 4


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path / "made" / "data") as mounted:
        yield mounted


def begin(made: Collection, ledger: Path) -> None:
    """Pages whose hooks keep their ledger on another disk."""
    note = f'echo "${{SNAP_DIR##*/}} $(basename $0)" >> {ledger}\n'
    hooks = {f"on_Snapshot__{step}0_note.sh": f"sleep 0.3\n{note}" for step in range(1, HOOKS + 1)}
    made.plugin("note", hooks)
    made.add(*[f"http://h{number}.test/" for number in range(PAGES)])


def said(made: Collection) -> str:
    return (made.base / "watcher.log").read_text()


def check(made: Collection, ledger: Path) -> None:
    """Every hook ran once, and is on record."""
    lines = ledger.read_text().splitlines()
    assert len(lines) == len(set(lines)) == PAGES * HOOKS
    assert {row["status"] for row in made.rows("ArchiveResult", "status", plugin="note")} == {"noresults"}
    assert len(made.processes(process_type="hook", plugin="note")) == PAGES * HOOKS
    assert made.actor.ask("is_intact") == "ok"


def test_a_full_disk_is_waited_out(disk: Disk, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with collection(tmp_path / "made", DISK_FREE_MIN="0") as made:
        begin(made, ledger)
        made.watch()
        made.wait("work", ledger.exists)
        disk.fill()
        made.wait("the sentence", lambda: "no work begins until there is more" in said(made))
        running = [identity_of(row) for row in made.hooks("note", status="running")]
        made.wait("what ran has ended", lambda: all(one.is_zombie() or not one.is_alive() for one in running))
        disk.free()
        made.wait_sealed()
        made.leave()
        check(made, ledger)
        assert said(made).count("no work begins until there is more") == 1
        assert "Traceback" not in said(made)
        assert "Logging error" not in said(made)


@pytest.mark.default
def test_no_work_begins_below_the_limit(disk: Disk, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with collection(tmp_path / "made", DISK_FREE_MIN=str(16 << 20)) as made:
        begin(made, ledger)
        reserve = disk.path / "reserve"
        reserve.write_bytes(bytes(12 << 20))
        made.watch()
        made.wait("the sentence", lambda: "(DISK_FREE_MIN)" in said(made))
        made.wait("workers", lambda: made.processes(worker_type="worker", status="running"))
        assert not made.processes(process_type="hook")
        reserve.unlink()
        made.wait_sealed()
        made.leave()
        check(made, ledger)


def test_a_disk_that_takes_no_more_files_is_no_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", files=1_010) as disk:
        told: list[str] = []
        guard = DiskSpaceGuard(disk.path, 0, told.append)
        assert guard.has_space()
        for number in range(20):
            (disk.path / str(number)).touch()
        assert not guard.has_space()
        assert "more files (inodes; `df -i` shows them)" in told[0]


@pytest.mark.slow
def test_a_server_lives_through_a_data_folder_that_is_away_for_a_moment(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with collection(tmp_path / "made", DISK_FREE_MIN="0") as made:
        begin(made, ledger)
        with (made.base / "watcher.log").open("wb") as log:
            command = [sys.executable, "-m", "archivebox", "server", "--bind", f"127.0.0.1:{free_ports()}"]
            server = subprocess.Popen(command, cwd=REPOSITORY, env=made.env, stdout=log, stderr=log)
        made.watchers.append(server)
        made.wait("work", ledger.exists)
        away = made.root.rename(made.root.with_name("away"))
        made.root.mkdir()
        time.sleep(5)  # in which whoever makes folders and files would
        assert list(made.root.rglob("*")) == []
        made.root.rmdir()
        away.rename(made.root)
        made.wait_sealed()
        assert server.poll() is None
        made.leave()


def test_a_disk_that_can_only_be_read_is_no_room(disk: Disk) -> None:
    """As after an error of the disk: it becomes read-only, and a person mounts it again."""
    told: list[str] = []
    guard = DiskSpaceGuard(disk.path, 0, told.append)
    assert guard.has_space()
    disk.remount("ro")
    wait_for("no room", lambda: not guard.has_space())
    disk.remount("rw")
    wait_for("room", guard.has_space)
    assert [line.partition(":")[0] for line in told] == ["The disk can only be read", "The disk has space again"]


def test_what_such_a_disk_answers_passes(disk: Disk) -> None:
    disk.fill()
    with pytest.raises(OSError, match="No space") as full:
        (disk.path / "filler").open("ab", buffering=0).write(b"x")
    disk.remount("ro")
    with pytest.raises(OSError, match="Read-only") as read_only:
        (disk.path / "file").touch()
    assert (transient_problem(full.value), transient_problem(read_only.value)) == (FULL, READ_ONLY)


def test_a_server_lives_through_a_full_disk(disk: Disk, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with collection(tmp_path / "made", DISK_FREE_MIN="0") as made:
        begin(made, ledger)
        with (made.base / "watcher.log").open("wb") as log:
            command = [sys.executable, "-m", "archivebox", "server", "--bind", f"127.0.0.1:{free_ports()}"]
            server = subprocess.Popen(command, cwd=REPOSITORY, env=made.env, stdout=log, stderr=log)
        made.watchers.append(server)
        made.wait("work", ledger.exists)
        disk.fill()
        made.wait("the sentence", lambda: "no work begins until there is more" in said(made))
        supervised = [*made.processes(process_type="supervisord"), *made.processes(process_type="orchestrator")]
        disk.free()
        made.wait_sealed()
        assert server.poll() is None
        assert all(identity_of(row).is_alive() for row in supervised)
        made.leave()
        check(made, ledger)


def test_an_import_is_paused_by_a_full_disk_and_resumed_when_there_is_space(disk: Disk, tmp_path: Path) -> None:
    source = make_old_collection(tmp_path / "old")
    os.truncate(source / "archive" / SECOND / "singlefile.html", 64 << 20)  # more than the disk has
    with collection(tmp_path / "made", DISK_FREE_MIN="0", SEARCH_BACKEND_ENGINE="") as made:
        typed = partial(subprocess.run, cwd=REPOSITORY, env=made.env, capture_output=True, text=True, check=False)
        done = typed([sys.executable, "-m", "archivebox", "import", str(source), "--yes"])
        assert "The disk is full. Make space, then resume the job." in done.stderr
        job = made.row("Job", "pk", "status", "done", "problem")
        assert (job["status"], job["done"]) == ("paused", 0)
        assert not [path for path in (disk.path / "users").rglob("*") if path.is_file()], "the space is free again"
        os.truncate(source / "archive" / SECOND / "singlefile.html", 1000)
        resumed = typed([sys.executable, "-m", "archivebox", "job", "resume", str(job["pk"])])
        assert resumed.returncode == 0, resumed.stderr
        made.watch()
        made.wait("the import is done", lambda: made.row("Job", "status")["status"] == "sealed")
        made.leave()
        assert made.row("Job", "done", "failed", "problem") == {"done": 2, "failed": 0, "problem": ""}
