from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from archivebox.base_models.rows import new_id
from archivebox.lib.processes import ProcessIdentity, SpawnLog, mark_environment, marked_children
from archivebox.storage.layout import DataFolder
from archivebox.workers.queue.orphans import end_unrecorded, marks_of_orphans
from tests.factories import row
from tests.unit.workers.queue.test_reclaim import sleeper

pytestmark = pytest.mark.usefixtures("collection")

PARENT = """
import os, subprocess, sys
child = subprocess.Popen(["sleep", "600"], env=os.environ | {"ARCHIVEBOX_PROCESS_ID": sys.argv[1]})
print(child.pid, flush=True)
sys.stdin.read()
child.kill()
"""


@contextmanager
def orchestrator(folder: DataFolder, own: object, of_child: object) -> Iterator[tuple[int, ProcessIdentity]]:
    """A live process with a mark and a child with another."""
    command = [sys.executable, "-c", PARENT, str(of_child)]
    env = os.environ | mark_environment(str(own), folder.root)
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = ProcessIdentity.of(int(parent.stdout.readline()))
        assert child is not None
        while not marked_children(parent.pid, folder.root):
            pass  # execve(2) still goes on
        yield parent.pid, child


def test_what_a_dead_worker_left_and_no_row_names_is_ended(collection: DataFolder) -> None:
    """As after a failover that lost the row of a tab's holder: whoever comes next would wait for its place for ever."""
    left = new_id()
    with orchestrator(collection, new_id(), left) as (pid, child):
        marks = marks_of_orphans(pid)
        assert marks == {str(left)}
        assert end_unrecorded(marks) == 1
        assert child.is_zombie() or not child.is_alive()


def test_children_of_an_orchestrator_that_lost_its_own_row_stay(collection: DataFolder) -> None:
    own = new_id()
    with orchestrator(collection, own, own) as (pid, _):
        assert marks_of_orphans(pid) == set()


def test_what_a_row_or_a_log_of_starts_names_stays(collection: DataFolder) -> None:
    logged, recorded = new_id(), row(process_type="hook").pk
    collection.spawn_logs.mkdir(parents=True, exist_ok=True)
    SpawnLog(collection.spawn_log(new_id())).intent(str(logged), {})
    with sleeper(collection, logged) as of_log, sleeper(collection, recorded) as of_row:
        assert end_unrecorded({str(logged), str(recorded)}) == 0
        assert of_log.is_alive()
        assert of_row.is_alive()


def test_a_mark_that_is_no_key_of_a_row_is_unknown(collection: DataFolder) -> None:
    with sleeper(collection, "whatever") as identity:
        assert end_unrecorded({"whatever"}) == 1
        assert identity.is_zombie() or not identity.is_alive()


def test_what_has_ended_is_not_counted_as_ended_now() -> None:
    """As of an old page, the rows of whose runs have been deleted."""
    assert end_unrecorded({str(new_id())}) == 0
