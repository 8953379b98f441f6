"""The death of supervisord: its server ends, and what it left is wound down in order."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.engine.driver import PATIENCE, REPOSITORY, Collection, identity_of
from tests.webserver.server import free_ports

SLOW = 'echo started >> "$DATA_DIR/ledger"\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\n'


@pytest.mark.default
@pytest.mark.database
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


def test_a_server_whose_output_goes_to_a_full_disk_goes_on(forked: Collection) -> None:
    """/dev/full is one: each write to it fails (full(4)), and what is said at the end is no error either."""
    forked.plugin("page", {"on_Snapshot__10_page.sh": "exit 0\n"})
    command = [sys.executable, "-m", "archivebox", "server", "--bind", f"127.0.0.1:{free_ports()}"]
    with Path("/dev/full").open("wb") as full:
        server = subprocess.Popen(command, cwd=REPOSITORY, env=forked.env, stdout=full, stderr=full)
    forked.watchers.append(server)
    forked.wait_sealed(forked.add())
    assert server.poll() is None
    server.send_signal(signal.SIGINT)
    assert server.wait(PATIENCE) in {0, 130}
    forked.watchers.clear()
    forked.wait_until_gone()
