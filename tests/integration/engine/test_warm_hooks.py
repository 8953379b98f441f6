"""What is started ahead next to a server: for one crawl, with its settings, and gone when nobody wants it."""

import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from tests.integration.engine.disks import small_disk
from tests.integration.engine.driver import REPOSITORY, Collection, Row, identity_of
from tests.webserver.server import free_ports

HOOK = """\
import os, select, sys, time
from archivebox.plugins.base import StopRequest, start_program
from archivebox.plugins.base.engine import CrawlToCome
data, stop, crawl = os.environ["DATA_DIR"], StopRequest(), CrawlToCome.from_environment()
if crawl is not None and os.path.exists(data + "/refuse"):
    sys.exit(1)
program = start_program(["sleep", "600"])
if crawl is not None:
    crawl.announce_waiting()
    while os.path.exists(data + "/hang"):
        time.sleep(0.05)
    select.select([crawl, stop], [], [])
    if stop or not crawl.arrive():
        program.end()
        sys.exit(0 if stop else 1)
with open(data + "/ledger", "a") as ledger:
    ledger.write("own\\n" if crawl is None else "taken\\n")
with open("called", "w") as file:
    file.write(" ".join([os.environ["CRAWL_DIR"], os.environ["http_proxy"], *sys.argv[1:]]))
print('{"type": "Ready"}', flush=True)
select.select([stop], [], [])
program.end()
"""
PAGE = "[ ! -e $DATA_DIR/hold ] || until [ -e $DATA_DIR/go ]; do sleep 0.05; done\necho kept > page.txt\n"
NAME = "on_Crawl__01_thing.daemon.bg.py"
FIELDS = ("pk", "parent_id", "crawl_id", "status", "exit_code", "end_reason", "process_type", "worker_type", "pwd")


@pytest.fixture
def made(forked: Collection) -> Collection:
    """A collection whose crawls have a hook that may be started ahead."""
    if forked.mode != "forked":
        pytest.skip("next to a server hooks are forked")
    config = {"x-hooks": {NAME: {"ready": True, "warm": True, "after": ["earlier"]}}}
    forked.plugin("thing", {NAME: HOOK, "on_Snapshot__10_page.sh": PAGE}, config=config)
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
    """The one that waits for a crawl, once its program is on record."""
    rows = {"worker_type": "warm", "status": "running"}
    found = made.wait("one is started ahead", lambda: made.processes(**rows))[0]
    made.wait("its program is on record", lambda: made.rows("Process", "pk", parent_id=found["pk"], status="running"))
    return found


def gone(made: Collection, warm: Row) -> Row:
    """What is on record of it once it has ended, with its program."""
    programs = {"parent_id": warm["pk"], "status": "running"}
    made.wait("its program has ended", lambda: not made.rows("Process", "pk", **programs))
    return made.wait("it has ended", lambda: made.rows("Process", *FIELDS, pk=warm["pk"], status="exited"))[0]


def begun(made: Collection) -> str:
    """A crawl whose page has begun, and is held."""
    (made.root / "hold").touch()
    crawl = made.add("http://one.test/")
    made.wait("its page has begun", lambda: made.hooks("page", status="running"))
    return crawl


def has_more(made: Collection, before: int) -> bool:
    return len(made.ledger) > before


def kill_worker(made: Collection) -> None:
    (worker,) = made.processes(worker_type="worker", status="running")
    identity_of(worker).signal(signal.SIGKILL)
    made.wait("another worker", lambda: made.processes(worker_type="worker", status="running") != [worker])


@pytest.mark.database
def test_the_next_crawl_gets_it_with_folder_options_and_logs_and_another_one_waits(served: Collection) -> None:
    archive(served)
    first = waiting(served)
    crawl = archive(served)
    assert served.ledger == ["own", "taken"]
    ended = gone(served, first)
    assert (ended["exit_code"], ended["end_reason"], ended["crawl_id"]) == (0, "sealed", crawl)
    assert (ended["process_type"], ended["worker_type"]) == ("hook", "")
    (program,) = served.rows("Process", *FIELDS, parent_id=first["pk"])
    assert (program["crawl_id"], program["status"], program["process_type"]) == (crawl, "exited", "binary")
    assert waiting(served)["pk"] != first["pk"]
    places = served.root.glob("users/*/crawls/*/*/thing/called")
    (own, taken) = sorted(places, key=lambda path: path.stat().st_mtime)
    assert ended["pwd"] == str(taken.parent)
    folder, proxy, *options = taken.read_text().split()
    assert folder == str(taken.parents[1])
    assert f"//{first['pk']}:" in proxy
    assert f"--crawl-id={crawl}" in options
    assert [len(path.read_text().split()) for path in (own, taken)] == [5, 5]
    assert '"Ready"' in (taken.parents[1] / ".hooks" / f"{NAME}.{first['pk']}.stdout.log").read_text()


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
    assert gone(served, outdated)["end_reason"] == "sealed"
    waiting(served)
    archive(served, "another")
    assert served.ledger == ["own", "own", "taken"]


def test_a_crawl_that_begins_with_a_file_leaves_it_for_the_next(served: Collection) -> None:
    archive(served)
    warm = waiting(served)
    served.wait_sealed(served.add("http://one.test/paper.pdf"))
    assert waiting(served)["pk"] == warm["pk"]


def test_a_crawl_starts_its_own_where_it_cannot_be_told_of_it(served: Collection) -> None:
    archive(served)
    warm = waiting(served)
    for log in (served.root / "run/warm" / warm["parent_id"] / ".hooks").iterdir():
        log.unlink()
    archive(served)
    assert served.ledger == ["own", "own"]
    assert gone(served, warm)["exit_code"] == 1


def test_none_is_started_where_pages_are_on_another_disk(made: Collection) -> None:
    made.rows("Crawl", "pk")
    shutil.rmtree(made.root / "users")
    with small_disk(made.root / "users"):
        serve(made)
        archive(made)
        archive(made)
        made.leave()
        assert made.ledger == ["own", "own"]
        assert not made.processes(worker_type="warm")


@pytest.mark.parametrize("killed", ["while it waits", "as its crawl begins"])
def test_a_crawl_starts_its_own_where_it_was_killed(served: Collection, killed: str) -> None:
    archive(served)
    warm = waiting(served)
    if killed == "while it waits":
        identity_of(warm).signal(signal.SIGKILL)
        assert gone(served, warm)["exit_code"] == -signal.SIGKILL
        archive(served)
    else:
        identity_of(warm).signal(signal.SIGSTOP)
        crawl = served.add("http://one.test/", max_depth=0)
        served.wait("it has its crawl", lambda: served.rows("Process", "pk", pk=warm["pk"], crawl_id=crawl))
        identity_of(warm).signal(signal.SIGKILL)
        served.wait_sealed(crawl)
    assert served.ledger == ["own", "own"]


def test_none_is_started_again_before_the_next_crawl_where_it_has_ended(served: Collection) -> None:
    (served.root / "refuse").touch()
    archive(served)
    served.wait("it has ended", lambda: served.processes(worker_type="warm", status="exited"))
    archive(served)
    served.wait("another has ended", lambda: len(served.processes(worker_type="warm", status="exited")) == 2)
    (served.root / "refuse").unlink()
    archive(served)
    waiting(served)
    assert served.ledger == ["own"] * 3
    assert len(served.processes(worker_type="warm")) == 3


def test_one_that_waits_for_another_hook_of_its_crawl_is_not_started_ahead(served: Collection) -> None:
    served.plugin("other", {"on_Crawl__00_earlier.sh": "true\n"})
    archive(served)
    time.sleep(2)
    archive(served)
    assert served.ledger == ["own", "own"]
    assert not served.processes(worker_type="warm")


def test_none_waits_while_the_machine_drains(served: Collection) -> None:
    archive(served)
    first = waiting(served)
    served.actor.ask("drain", seconds=3600)
    gone(served, first)
    served.actor.ask("drain", seconds=None)
    assert waiting(served)["pk"] != first["pk"]


def test_one_that_hangs_is_killed(served: Collection) -> None:
    (served.root / "hang").touch()
    archive(served)
    warm = waiting(served)
    served.leave()
    assert gone(served, warm)["exit_code"] == -signal.SIGKILL
    assert not served.live()


def test_it_ends_with_its_worker_and_leaves_nothing(served: Collection) -> None:
    archive(served)
    warm = waiting(served)
    kill_worker(served)
    gone(served, warm)
    archive(served)
    assert served.ledger == ["own", "own"]
    served.wait("its folder is gone", lambda: not (served.root / "run/warm" / warm["parent_id"]).exists())


@pytest.mark.database
def test_a_crawl_that_has_it_goes_on_with_it_after_the_death_of_its_worker(served: Collection) -> None:
    archive(served)
    warm = waiting(served)
    crawl = begun(served)
    kill_worker(served)
    assert identity_of(warm).is_alive()
    (served.root / "go").touch()
    served.wait_sealed(crawl)
    assert served.ledger == ["own", "taken"]
    gone(served, warm)


def test_a_worker_that_dies_as_it_hands_it_over_leaves_it_to_its_crawl_or_ends_it(served: Collection) -> None:
    """Before the row says whose it is, the log of starts does."""
    archive(served)
    for pause in (0.0, 0.02, 0.05):
        warm, before = waiting(served), len(served.ledger)
        (worker,) = served.processes(worker_type="worker", status="running")
        crawl = served.add(f"http://one{before}.test/", max_depth=0)
        served.wait("a hook is there", partial(has_more, served, before))
        time.sleep(pause)
        identity_of(worker).signal(signal.SIGKILL)
        served.wait_sealed(crawl)
        gone(served, warm)
        archive(served)
    served.leave()
    assert not served.live()


def test_it_ends_with_the_server_and_leaves_nothing(served: Collection) -> None:
    archive(served)
    warm = waiting(served)
    served.leave()
    assert gone(served, warm)["exit_code"] == 0
    assert not list((served.root / "run" / "warm").iterdir())
    assert not served.live()


def test_none_is_started_where_it_is_switched_off(made: Collection) -> None:
    made.settings["WARM_BROWSER"] = "false"
    serve(made)
    archive(made)
    archive(made)
    made.leave()
    assert made.ledger == ["own", "own"]
    assert not made.processes(worker_type="warm")


def test_none_is_started_without_a_server(made: Collection) -> None:
    made.watch()
    archive(made)
    archive(made)
    made.leave()
    assert not made.processes(worker_type="warm")
