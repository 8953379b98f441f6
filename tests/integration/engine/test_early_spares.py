"""What a command starts ahead for its own crawl, before it has loaded anything else (decision 0142)."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from tests.integration.engine.driver import REPOSITORY, Collection, Row, identity_of
from tests.integration.engine.test_spares import HOOK, NAME, PAGE, SPARE

STARTED = 'import os\nopen(os.environ["DATA_DIR"] + "/started", "a").write("started\\n")\n'
PROGRAM = """\
import json, os, time, uuid
record = {"type": "Process", "id": str(uuid.uuid4()), "cmd": ["program"], "pid": os.getpid()}
print(json.dumps(record), flush=True)
way.recv(64)
time.sleep(0.5)
print(json.dumps({**record, "exit_code": -9, "end_reason": "sealed"}), flush=True)
"""
SLOW = "import os, time\nif os.path.exists(os.environ['DATA_DIR'] + '/hang'): time.sleep(600)\n"


@pytest.fixture
def made(forked: Collection) -> Collection:
    """A collection whose last command has left a recipe for the next one."""
    if forked.mode != "forked":
        pytest.skip("workers are forked from the command")
    config = {"x-hooks": {NAME: {"ready": True, "spare": "spare.py"}}}
    spare = STARTED + SLOW + SPARE
    forked.plugin("thing", {NAME: HOOK, "spare.py": spare, "on_Snapshot__10_page.sh": PAGE}, config=config)
    add(forked)
    assert (forked.ledger, started(forked)) == (["own"], 0)
    return forked


def command(made: Collection, *options: str, number: int = 0) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-m", "archivebox", "add", "--plugins", "thing", *options, f"http://page{number}.test/"]
    output = subprocess.PIPE
    return subprocess.Popen(argv, cwd=REPOSITORY, env=made.env, stdout=output, stderr=output, text=True)


def add(made: Collection, *options: str, number: int = 0) -> str:
    """What the command says."""
    running = command(made, *options, number=number)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, out + err
    assert not made.live()
    return err


def started(made: Collection) -> int:
    path = made.root / "started"
    return len(path.read_text().splitlines()) if path.exists() else 0


def has_more(made: Collection, before: int, running: "subprocess.Popen[str]") -> bool:
    return started(made) > before or running.poll() is not None


def spares(made: Collection) -> list[Row]:
    fields = ("pk", "crawl_id", "parent_id", "status", "exit_code", "end_reason")
    return made.rows("Process", *fields, worker_type="spare")


def test_the_crawl_of_the_next_command_like_it_gets_it(made: Collection) -> None:
    add(made, number=1)
    assert (made.ledger, started(made)) == (["own", "taken"], 1)
    (spare,) = spares(made)
    crawl = made.row("Crawl", "pk", urls__contains="page1")
    cli = made.rows("Process", "pk", process_type="cli")[-1]
    assert (spare["crawl_id"], spare["parent_id"]) == (crawl["pk"], cli["pk"])
    assert (spare["status"], spare["exit_code"], spare["end_reason"]) == ("exited", 0, "sealed")
    assert not list((made.root / "logs").glob("spare.*"))


def test_a_program_of_it_that_ends_after_the_crawl_is_on_record(made: Collection) -> None:
    (script,) = made.root.rglob("spare.py")
    script.write_text(script.read_text().replace("raise SystemExit", PROGRAM + "raise SystemExit"))
    add(made, number=1)
    (spare,) = spares(made)
    program = made.row("Process", "parent_id", "status", "exit_code", "end_reason", process_type="binary")
    assert program == {"parent_id": spare["pk"], "status": "exited", "exit_code": -9, "end_reason": "sealed"}


def test_a_command_with_other_options_starts_none(made: Collection) -> None:
    add(made, "--tag", "other")
    assert (made.ledger, started(made)) == (["own", "own"], 0)


def test_a_crawl_with_other_settings_starts_its_own(made: Collection) -> None:
    made.settings["USER_AGENT"] = "another"
    add(made)
    assert (made.ledger, started(made)) == (["own", "own"], 1)
    (spare,) = spares(made)
    assert (spare["status"], spare["exit_code"], spare["crawl_id"]) == ("exited", 0, None)
    add(made)
    assert (made.ledger, started(made)) == (["own", "own", "taken"], 2)


def test_none_is_started_where_it_is_switched_off(made: Collection) -> None:
    made.settings["SPARE_BROWSER"] = "false"
    add(made)
    add(made)
    assert (made.ledger, started(made)) == (["own"] * 3, 1)


def test_none_is_started_again_for_crawls_that_cannot_use_it(made: Collection) -> None:
    (made.root / "refuse").touch()
    add(made)
    add(made)
    assert (made.ledger, started(made)) == (["own"] * 3, 1)
    assert [row["exit_code"] for row in spares(made)] == [3]


def test_it_ends_with_a_command_that_is_refused(made: Collection) -> None:
    running = command(made, "--depth", "0", number=1)
    running.communicate(timeout=120)
    refused = subprocess.run(
        [sys.executable, "-m", "archivebox", "add", "--plugins", "thing", "--depth", "0", "http://"],
        cwd=REPOSITORY, env=made.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == 2, refused.stderr
    assert started(made) == 1
    assert not made.live()
    assert not list((made.root / "logs").glob("spare.*"))


def test_the_recipe_of_another_user_or_version_is_not_followed(made: Collection) -> None:
    path = made.root / "run" / "spare.json"
    recipe = json.loads(path.read_text())
    path.chmod(0o644)
    add(made)
    assert started(made) == 0
    path.write_text(json.dumps({**recipe, "program": ["another"]}))
    path.chmod(0o600)
    add(made)
    path.write_text("torn {")
    path.chmod(0o600)
    add(made)
    assert started(made) == 0


def test_it_ends_when_its_command_is_killed_at_any_moment(made: Collection) -> None:
    """While modules are loaded, while its crawl is written, while it waits for its orchestrator."""
    for number in range(3):
        before, running = started(made), command(made, number=number)
        made.wait("it is started", partial(has_more, made, before, running))
        time.sleep(0.25 * number)
        running.kill()
        running.communicate()
        made.wait("all have ended", lambda: not made.live())
    add(made, number=3)
    assert all(row["status"] == "exited" for row in spares(made))


def test_its_worker_dies_and_the_page_is_archived(made: Collection) -> None:
    (made.root / "hold").touch()
    running = command(made, number=1)
    made.wait("its page has begun", lambda: made.hooks("page", status="running"))
    (worker,) = made.processes(worker_type="worker", status="running")
    identity_of(worker).signal(signal.SIGKILL)
    made.wait("the next worker", lambda: made.processes(worker_type="worker", status="running"))
    (made.root / "go").touch()
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, out + err
    assert not made.live()
    assert [row["status"] for row in spares(made)] == ["exited"]


def test_one_that_hangs_is_killed_with_its_command(made: Collection) -> None:
    (made.root / "hang").touch()
    add(made, number=1)
    (spare,) = spares(made)
    assert (spare["status"], spare["exit_code"]) == ("exited", -signal.SIGKILL)


def test_none_is_started_beside_an_orchestrator(made: Collection) -> None:
    argv = [sys.executable, "-m", "archivebox", "worker"]
    made.watchers.append(subprocess.Popen(argv, cwd=REPOSITORY, env=made.env, stdout=subprocess.DEVNULL))
    made.wait("a worker", lambda: made.processes(worker_type="worker", status="running"))
    running = command(made, number=1)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0, out + err
    assert (made.ledger, started(made)) == (["own", "own"], 0)
    os.kill(made.watchers[0].pid, signal.SIGTERM)
