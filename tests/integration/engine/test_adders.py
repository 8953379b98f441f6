"""Several commands at once on a folder that does not exist yet: each gets its pages, whoever of them dies."""

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.integration.engine.driver import PATIENCE, REPOSITORY, Collection, identity_of
from tests.webserver.server import free_ports

pytestmark = pytest.mark.database

PAGE = (
    'echo "$SNAP_DIR" >> "$DATA_DIR/ledger"\nuntil [ -e "$DATA_DIR/go" ]; do sleep 0.05; done\necho kept > page.txt\n'
)
MANY = 8
LONG_LIST = 20_000


def start(made: Collection, number: int) -> "subprocess.Popen[str]":
    urls = [f"http://h{number}.test/{page}" for page in range(2)]
    command = [sys.executable, "-m", "archivebox", "add", "--json", "--plugins", "page", *urls]
    return subprocess.Popen(
        command, cwd=REPOSITORY, env=made.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def check(made: Collection, adders: list["subprocess.Popen[str]"]) -> None:
    """Each ended well, said what it had accepted, and nobody ever heard of a locked database."""
    said = [adder.communicate(timeout=PATIENCE) for adder in adders]
    errors = [error for _, error in said]
    assert not [error for error in errors if "locked" in error or "Traceback" in error], errors
    assert [adder.returncode for adder in adders] == [0] * len(adders), errors
    for output, _ in said:
        assert [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    made.wait_until_gone()
    made.check_nothing_left()
    assert made.actor.ask("is_intact") == "ok"


def test_eight_first_uses_at_once(unmade: Collection) -> None:
    unmade.plugin("page", {"on_Snapshot__10_page.sh": PAGE})
    (unmade.root / "go").touch()
    adders = [start(unmade, number) for number in range(MANY)]
    check(unmade, adders)
    assert len(unmade.rows("Crawl", "pk")) == MANY
    assert len(unmade.ledger) == len(set(unmade.ledger)) == 2 * MANY
    orchestrators = unmade.processes(process_type="orchestrator")
    assert {row["exit_code"] for row in orchestrators} == {0}, "one works, those that found it at work leave"


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_the_one_that_started_the_orchestrator_goes_and_the_others_end(
    forked: Collection, signum: signal.Signals
) -> None:
    forked.plugin("page", {"on_Snapshot__10_page.sh": PAGE})
    first = start(forked, 0)
    forked.wait("the first page", lambda: forked.ledger)
    others = [start(forked, number) for number in range(1, 4)]
    forked.wait("all are accepted", lambda: len(forked.rows("Crawl", "pk")) == 4)
    first.send_signal(signum)
    first.communicate(timeout=PATIENCE)
    (forked.root / "go").touch()
    check(forked, others)
    pages = forked.rows("Snapshot", "status", "url", crawl__in=[row["pk"] for row in forked.rows("Crawl", "pk")])
    done = [row for row in pages if row["status"] == "sealed"]
    assert {row["url"] for row in done} >= {f"http://h{number}.test/{page}" for number in (1, 2, 3) for page in (0, 1)}


def test_an_add_that_only_watches_starts_the_next_orchestrator_when_this_one_dies(forked: Collection) -> None:
    forked.plugin("page", {"on_Snapshot__10_page.sh": PAGE})
    forked.watch()
    adder = start(forked, 0)
    forked.wait("its page", lambda: forked.ledger)
    (old,) = forked.processes(process_type="orchestrator", status="running")
    forked.watchers[0].kill()
    forked.watchers.pop().wait()
    identity_of(old).signal(signal.SIGKILL)
    (forked.root / "go").touch()
    check(forked, [adder])
    assert len(forked.processes(process_type="orchestrator")) >= 2


def read(url: str) -> int:
    """The status of one answer, as a browser gets it."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return int(answer.status)


def test_eight_more_while_a_crawl_runs_and_the_server_is_read(forked: Collection) -> None:
    forked.plugin("page", {"on_Snapshot__10_page.sh": PAGE})
    forked.settings |= {"WORKERS": "2", "PUBLIC_INDEX": "true"}
    address = f"127.0.0.1:{free_ports()}"
    command = [sys.executable, "-m", "archivebox", "server", "--bind", address]
    log = forked.base / "server.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=REPOSITORY, env=forked.env, stdout=out, stderr=out)
    forked.watchers.append(server)
    forked.wait("the server", lambda: "ArchiveBox is at" in log.read_text())
    first = start(forked, MANY)
    forked.wait("its crawl at work", lambda: forked.ledger)
    adders = [first, *(start(forked, number) for number in range(MANY))]
    answers = {read(f"http://{address}/") for _ in range(20)}
    (forked.root / "go").touch()
    while any(adder.poll() is None for adder in adders):
        answers.add(read(f"http://{address}/"))
    assert answers == {200}
    said = "".join(path.read_text(errors="replace") for path in [log, *(forked.root / "logs").glob("*.log")])
    assert "locked" not in said, said[-2000:]
    server.terminate()
    assert server.wait(PATIENCE) == 128 + signal.SIGTERM, log.read_text()
    check(forked, adders)
    assert len(forked.ledger) == len(set(forked.ledger)) == 2 * (MANY + 1)


def test_others_add_while_a_long_list_is_added(forked: Collection) -> None:
    forked.plugin("page", {"on_Snapshot__10_page.sh": PAGE})
    listed = forked.base / "urls.txt"
    listed.write_text("".join(f"http://h{number % 100}.test/{number}\n" for number in range(LONG_LIST)))
    command = [sys.executable, "-m", "archivebox", "add", "--bg", "--plugins", "page", "--file", str(listed)]
    with subprocess.Popen(command, cwd=REPOSITORY, env=forked.env, stdout=subprocess.DEVNULL) as long:
        forked.wait("its first part", lambda: forked.rows("Snapshot", "pk"))
        short = forked.add("http://short.test/")
        (row,) = (row for row in forked.rows("Crawl", "pk", "status", "reason") if row["pk"] != short)
        assert (row["status"], row["reason"]) == ("paused", "being_added"), "nobody waited for its end"
    assert long.returncode == 0
    assert len(forked.rows("Snapshot", "pk", crawl_id=row["pk"])) == LONG_LIST
    assert forked.row("Crawl", "status", pk=row["pk"])["status"] == "queued"
