"""The death of supervisord: its server ends, and what it left is wound down in order."""

import signal
import subprocess
import sys

import pytest

from tests.integration.engine.driver import PATIENCE, REPOSITORY, Collection, identity_of
from tests.webserver.server import free_ports

pytestmark = pytest.mark.database

SLOW = 'echo started >> "$DATA_DIR/ledger"\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n'


def test_a_killed_supervisord_costs_no_attempt(forked: Collection) -> None:
    forked.plugin("slow", {f"on_Snapshot__1{n}_slow{n}.sh": SLOW for n in range(2)})
    forked.add(*[f"http://h{n}.test/" for n in range(3)])
    command = [sys.executable, "-m", "archivebox", "server", "--bind", f"127.0.0.1:{free_ports()}"]
    server = subprocess.Popen(command, cwd=REPOSITORY, env=forked.env)
    forked.watchers.append(server)
    forked.wait_ledger("started")
    (row,) = forked.processes(process_type="supervisord", status="running")
    identity_of(row).signal(signal.SIGKILL)
    assert server.wait(PATIENCE) == 1
    results = forked.rows("ArchiveResult", "status", "attempts", plugin="slow")
    assert results
    assert {(row["status"], row["attempts"]) for row in results} == {("queued", 0)}
    (forked.root / "go").touch()
    forked.watchers.clear()
    forked.run()
    assert {row["status"] for row in forked.results().values()} == {"noresults"}
