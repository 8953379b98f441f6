"""Commands next to a running server: its warm process carries them out, and nothing is lost or done twice by that."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest

from archivebox.cli import handover
from archivebox.storage.layout import DataFolder
from tests.integration.engine.driver import LOOK, PATIENCE, REPOSITORY, Collection, Row, identity_of
from tests.webserver.server import free_ports

PAGE = (
    'until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\necho "$SNAP_DIR" >> "$DATA_DIR/ledger"\necho kept > page.txt\n'
)
ADD = (sys.executable, "-m", "archivebox", "add", "--plugins", "page")


@pytest.fixture
def served(forked: Collection) -> Collection:
    """A collection with a running server that takes commands."""
    if forked.mode != "forked":
        pytest.skip("commands are forked where hooks are")
    forked.plugin("page", {"on_Snapshot__10_page.sh": PAGE})
    command = [sys.executable, "-m", "archivebox", "server", "--bind", f"127.0.0.1:{free_ports()}"]
    forked.watchers.append(subprocess.Popen(command, cwd=REPOSITORY, env=forked.env, stdout=subprocess.DEVNULL))
    taker(forked)
    return forked


def taker(made: Collection) -> Row:
    """The process that takes commands, once it does."""

    def listening() -> Row | None:
        rows = made.processes(worker_type="commands", status="running")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as trial:
            folder = os.open(made.root / "run", os.O_RDONLY)
            try:
                trial.connect(handover.address_in(folder))
            except OSError:
                return None
            finally:
                os.close(folder)
        return rows[0] if rows else None

    found = made.wait("commands are taken", listening)
    assert found is not None
    return found


def start(made: Collection, *words: str, **more: str) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*ADD, *words], cwd=REPOSITORY, env={**made.env, **more}, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def ended(command: "subprocess.Popen[str]") -> tuple[int, list[Row], str]:
    """Its exit status, the records on stdout, and stderr."""
    out, err = command.communicate(timeout=PATIENCE)
    return command.returncode, [json.loads(line) for line in out.splitlines()], err


def row_of(made: Collection, url: str) -> Row:
    """The row of the one command that was given a URL."""
    (row,) = (row for row in made.processes(process_type="cli") if url in row["cmd"])
    return row


def accepted(made: Collection, url: str) -> Row:
    """The row of a command in the server's process that waits for its page."""
    made.wait("its page", lambda: made.rows("Snapshot", "pk", url=url))
    row = row_of(made, url)
    watching = made.root / "run" / "watchers"
    made.wait("it waits", lambda: any(str(row["pk"]) in path.name for path in watching.iterdir()))
    return row


def go(made: Collection) -> None:
    (made.root / "go").touch()


@pytest.mark.default
@pytest.mark.database
def test_a_command_is_carried_out_by_the_servers_process_as_it_was_typed(served: Collection) -> None:
    go(served)
    status, records, err = ended(start(served, "http://one.test/"))
    assert status == 0, err
    assert [record["type"] for record in records] == ["Crawl", "Snapshot", "Summary"]
    row = row_of(served, "http://one.test/")
    assert row["parent_id"] == taker(served)["pk"]
    assert (row["cmd"], row["exit_code"]) == ([*ADD, "http://one.test/"], 0)
    assert len(served.ledger) == 1


def test_it_has_the_streams_the_folder_the_environment_and_the_umask_of_the_caller(served: Collection) -> None:
    go(served)
    (served.base / "list.txt").write_text("http://file.test/\n")
    command = subprocess.Popen(
        [*ADD, "--file", "list.txt", "-"],
        cwd=served.base,
        env={**served.env, "VISIBILITY": "private"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        umask=0o027,
    )
    out, err = command.communicate("http://stdin.test/\nnonsense\n", timeout=PATIENCE)
    assert command.returncode == 0, err
    assert "skipped: 1 line" in err
    pages = {row["url"]: row["visibility"] for row in served.rows("Snapshot", "url", "visibility")}
    assert pages == {"http://file.test/": "private", "http://stdin.test/": "private"}
    assert [json.loads(line)["type"] for line in out.splitlines()].count("Snapshot") == 2
    (kept,) = (served.root / "sources").glob("*.txt")
    assert stat.S_IMODE(kept.stat().st_mode) & 0o037 == 0


def test_what_it_refuses_is_said_where_it_was_typed(served: Collection) -> None:
    status, records, err = ended(start(served, "--depth", "many", "http://one.test/"))
    assert (status, records) == (2, [])
    assert "depth" in err
    status, records, err = ended(start(served, "gopher://one.test/"))
    assert (status, records) == (2, [])
    assert "gopher" in err
    assert served.rows("Crawl", "pk") == []


@pytest.mark.parametrize(
    "more", [{"ARCHIVEBOX_FORK": "0"}, {"PYTHONWARNINGS": "ignore"}, {"DATABASE_URL": "mysql://nobody/nothing"}]
)
def test_what_would_do_something_else_there_is_done_where_it_was_typed(
    served: Collection, more: dict[str, str]
) -> None:
    go(served)
    status, _, err = ended(start(served, "--bg", "http://one.test/", **more))
    rows = [row for row in served.processes(process_type="cli") if "http://one.test/" in row["cmd"]]
    if "DATABASE_URL" in more:
        assert status == 2
        assert "DATABASE_URL" in err
    else:
        assert status == 0, err
        assert [row["parent_id"] for row in rows] != [taker(served)["pk"]]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_caller_ends_it(served: Collection, signum: signal.Signals) -> None:
    command = start(served, "http://one.test/")
    row = accepted(served, "http://one.test/")
    command.send_signal(signum)
    status, _, err = ended(command)
    assert status == 128 + signum, err
    served.wait("it has ended", lambda: not identity_of(row).is_alive())
    go(served)
    served.wait_sealed()


@pytest.mark.database
def test_a_caller_that_is_killed_takes_it_along(served: Collection) -> None:
    command = start(served, "http://one.test/")
    row = accepted(served, "http://one.test/")
    command.kill()
    command.communicate(timeout=PATIENCE)
    served.wait("it ends", lambda: not identity_of(row).is_alive())
    go(served)
    served.wait_sealed()


@pytest.mark.default
def test_a_caller_goes_on_by_itself_when_it_is_killed(served: Collection) -> None:
    command = start(served, "http://one.test/")
    identity_of(accepted(served, "http://one.test/")).signal(signal.SIGKILL)
    go(served)
    status, records, err = ended(command)
    assert status == 0, err
    assert [record["type"] for record in records] == ["Crawl", "Snapshot", "Summary"]
    assert len(served.ledger) == 1


def test_a_caller_goes_on_by_itself_when_the_server_ends(served: Collection) -> None:
    command = start(served, "http://one.test/")
    accepted(served, "http://one.test/")
    (server,) = served.watchers
    served.watchers.clear()
    server.send_signal(signal.SIGTERM)
    assert server.wait(PATIENCE) == 128 + signal.SIGTERM
    go(served)
    status, records, err = ended(command)
    assert status == 0, err
    assert [record["type"] for record in records] == ["Crawl", "Snapshot", "Summary"]
    served.wait_until_gone()
    served.check_nothing_left()
    assert not DataFolder(served.root).commands_socket.exists()


@pytest.mark.database
def test_one_that_is_killed_is_replaced(served: Collection) -> None:
    go(served)
    before = taker(served)
    identity_of(before).signal(signal.SIGKILL)
    status, _, err = ended(start(served, "http://one.test/"))
    assert status == 0, err
    served.wait("another", lambda: taker(served)["pk"] != before["pk"])
    status, _, err = ended(start(served, "http://two.test/"))
    assert status == 0, err
    assert row_of(served, "http://two.test/")["parent_id"] == taker(served)["pk"]
    assert len(set(served.ledger)) == len(served.ledger) == 2


def test_nothing_is_done_for_a_caller_that_waits_no_longer(served: Collection) -> None:
    folder = os.open(served.root / "run", os.O_RDONLY)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
        caller.connect(handover.address_in(folder))
        argv = ["archivebox", "add", "http://one.test/"]
        request = handover.CommandRequest(argv, argv, served.env, 0o077, [], handover.program())
        socket.send_fds(caller, [json.dumps(request).encode()], [0, 1, 2, folder])
        answer, _, _, _ = socket.recv_fds(caller, 1000, 1)
        assert json.loads(answer) == {"begun": True}
    os.close(folder)
    time.sleep(10 * LOOK)
    assert served.rows("Crawl", "pk") == []


def test_the_socket_is_for_its_user_alone(served: Collection) -> None:
    found = DataFolder(served.root).commands_socket
    assert stat.S_IMODE(found.stat().st_mode) == 0o600
    assert found.name == handover.SOCKET
