"""What is started ahead next to a server: for one crawl, with its settings, and gone when nobody wants it."""

import signal
import subprocess
import sys

import pytest

from tests.integration.engine.driver import REPOSITORY, Collection, Row, identity_of
from tests.webserver.server import free_ports

HOOK = """\
import os, signal
if "SPARE_SOCKET" in os.environ and os.path.exists(os.environ["DATA_DIR"] + "/refuse"):
    os.write(int(os.environ.pop("SPARE_SOCKET")), b"refused")
with open(os.environ["DATA_DIR"] + "/ledger", "a") as ledger:
    ledger.write("taken\\n" if "SPARE_SOCKET" in os.environ else "own\\n")
print('{"type": "Ready"}', flush=True)
signal.sigwait([signal.SIGTERM])
"""
SPARE = """\
import os, socket
way = socket.socket(fileno=int(os.environ["SPARE_SOCKET"]))
way.send(b"ready")
raise SystemExit(3 if way.recv(64) == b"refused" else 0)
"""
PAGE = "[ ! -e $DATA_DIR/hold ] || until [ -e $DATA_DIR/go ]; do sleep 0.05; done\necho kept > page.txt\n"
NAME = "on_Crawl__01_thing.daemon.bg.py"


@pytest.fixture
def made(forked: Collection) -> Collection:
    """A collection whose crawls have a hook of which a part may be started ahead."""
    if forked.mode != "forked":
        pytest.skip("next to a server hooks are forked")
    config = {"x-hooks": {NAME: {"ready": True, "spare": "spare.py"}}}
    forked.plugin("thing", {NAME: HOOK, "spare.py": SPARE, "on_Snapshot__10_page.sh": PAGE}, config=config)
    return forked


@pytest.fixture
def served(made: Collection) -> Collection:
    serve(made)
    return made


def serve(made: Collection) -> None:
    command = [sys.executable, "-m", "archivebox", "server", "--bind", f"127.0.0.1:{free_ports()}"]
    made.watchers.append(subprocess.Popen(command, cwd=REPOSITORY, env=made.env, stdout=subprocess.DEVNULL))
    made.wait("the server's worker", lambda: made.processes(worker_type="worker", status="running"))


def archive(made: Collection, agent: str = "") -> str:
    config = {"USER_AGENT": agent} if agent else {}
    crawl = made.add(f"http://page{len(made.rows('Crawl', 'pk'))}.test/", max_depth=0, **config)
    made.wait_sealed(crawl)
    return crawl


def waiting(made: Collection) -> Row:
    """The one that waits for a crawl."""
    rows = {"worker_type": "spare", "status": "running", "crawl_id": None}
    return made.wait("one is started ahead", lambda: made.processes(**rows))[0]


def gone(made: Collection, spare: Row) -> Row:
    rows = {"pk": spare["pk"], "status": "exited"}
    return made.wait("it has ended", lambda: made.processes(**rows))[0]


@pytest.mark.database
def test_the_next_crawl_gets_it_and_then_another_one_waits(served: Collection) -> None:
    archive(served)
    first = waiting(served)
    crawl = archive(served)
    assert served.ledger == ["own", "taken"]
    ended = gone(served, first)
    assert (ended["exit_code"], ended["end_reason"]) == (0, "sealed")
    assert [row["pk"] for row in served.rows("Process", "pk", crawl_id=crawl, worker_type="spare")] == [first["pk"]]
    assert waiting(served)["pk"] != first["pk"]


@pytest.mark.database
def test_of_two_crawls_at_once_one_gets_it(served: Collection) -> None:
    archive(served)
    waiting(served)
    (served.root / "hold").touch()
    crawls = [served.add("http://one.test/"), served.add("http://two.test/")]
    served.wait("both have begun", lambda: len(served.ledger) == 3)
    (served.root / "go").touch()
    served.wait_sealed(*crawls)
    assert sorted(served.ledger[1:]) == ["own", "taken"]


def test_a_crawl_with_other_settings_ends_it_and_starts_its_own(served: Collection) -> None:
    archive(served)
    outdated = waiting(served)
    archive(served, "another")
    assert served.ledger == ["own", "own"]
    assert gone(served, outdated)["exit_code"] == 0
    waiting(served)
    archive(served, "another")
    assert served.ledger == ["own", "own", "taken"]


def test_a_crawl_that_begins_with_a_file_leaves_it_for_the_next(served: Collection) -> None:
    archive(served)
    spare = waiting(served)
    served.wait_sealed(served.add("http://one.test/paper.pdf"))
    assert waiting(served)["pk"] == spare["pk"]


def test_the_next_crawl_starts_its_own_where_it_was_killed(served: Collection) -> None:
    archive(served)
    spare = waiting(served)
    identity_of(spare).signal(signal.SIGKILL)
    assert gone(served, spare)["exit_code"] == -signal.SIGKILL
    archive(served)
    assert served.ledger == ["own", "own"]


def test_none_is_started_again_for_crawls_that_cannot_use_it(served: Collection) -> None:
    archive(served)
    spare = waiting(served)
    (served.root / "refuse").touch()
    archive(served)
    assert gone(served, spare)["exit_code"] == 3
    archive(served, "another")
    waiting(served)
    assert served.ledger == ["own"] * 3
    assert len(served.processes(worker_type="spare")) == 2


def test_none_waits_while_the_machine_drains(served: Collection) -> None:
    archive(served)
    first = waiting(served)
    served.actor.ask("drain", seconds=3600)
    gone(served, first)
    served.actor.ask("drain", seconds=None)
    assert waiting(served)["pk"] != first["pk"]


def test_it_ends_with_its_worker(served: Collection) -> None:
    archive(served)
    spare = waiting(served)
    (worker,) = served.processes(worker_type="worker", status="running")
    identity_of(worker).signal(signal.SIGKILL)
    gone(served, spare)
    archive(served)
    assert served.ledger == ["own", "own"]


@pytest.mark.database
def test_a_crawl_that_has_it_goes_on_with_it_after_the_death_of_its_worker(served: Collection) -> None:
    archive(served)
    spare = waiting(served)
    (served.root / "hold").touch()
    crawl = served.add("http://one.test/")
    served.wait("its page has begun", lambda: served.hooks("page", status="running"))
    (worker,) = served.processes(worker_type="worker", status="running")
    identity_of(worker).signal(signal.SIGKILL)
    served.wait("another worker", lambda: served.processes(worker_type="worker", status="running") != [worker])
    assert identity_of(spare).is_alive()
    (served.root / "go").touch()
    served.wait_sealed(crawl)
    assert served.ledger == ["own", "taken"]
    gone(served, spare)


def test_it_ends_with_the_server(served: Collection) -> None:
    archive(served)
    spare = waiting(served)
    served.leave()
    assert gone(served, spare)["exit_code"] == 0
    assert not (served.root / "run" / "spare" / "thing").exists() or not list(
        (served.root / "run" / "spare" / "thing").iterdir()
    )


def test_none_is_started_where_it_is_switched_off(made: Collection) -> None:
    made.settings["SPARE_BROWSER"] = "false"
    serve(made)
    archive(made)
    archive(made)
    made.leave()
    assert made.ledger == ["own", "own"]
    assert not made.processes(worker_type="spare")


def test_none_is_started_without_a_server(made: Collection) -> None:
    made.watch()
    archive(made)
    archive(made)
    made.leave()
    assert not made.processes(worker_type="spare")
