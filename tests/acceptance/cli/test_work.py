"""`add`, `run` and `update` do the work, tell of it, and end with what came of it; Ctrl-C loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.acceptance.cli.conftest import Type, environment
from tests.marks import first_by_default

pytestmark = pytest.mark.database

URL = "https://example.com/page"
GOOD = "#!/bin/bash\necho kept > page.txt\n"
BAD = "#!/bin/bash\nexit 3\n"
SOFT = '#!/bin/bash\necho \'{"type": "ArchiveResult", "status": "failed", "output_str": "not to be had"}\'\n'
HANGS = "#!/bin/bash\necho begun\nexec sleep 600\n"

Put = Callable[[str], None]


@pytest.fixture
def put(collection: Path) -> Put:
    """Sets what the one hook of the plugin ``tiny`` does."""
    folder = collection / "plugins" / "tiny"
    folder.mkdir()

    def write(script: str) -> None:
        (folder / "on_Snapshot__60_tiny.sh").write_text(script)

    return write


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a command and leaves it running; whatever is left of it is ended."""
    begun: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-m", "archivebox", *words],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begun.append(child)
        return child

    yield begin
    for child in begun:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)


def running_hook(cli: Type) -> dict[str, object]:
    """The hook once it runs."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        rows = cli("process", "list", "--running", "--type", "hook").records
        rows = [row for row in rows if row["plugin"] == "tiny"]
        if rows:
            return rows[0]
    raise AssertionError("the hook never ran")


@pytest.mark.default
def test_add_waits_tells_of_each_page_and_ends_with_0(cli: Type, put: Put) -> None:
    put(GOOD)
    done = cli("add", "--plugins", "tiny", URL, "https://example.com/other")
    assert done.code == 0, done.err
    crawl, first, second, summary = done.records
    assert crawl["type"] == "Crawl"
    assert {first["type"], second["type"], first["status"], second["status"]} == {"Snapshot", "sealed"}
    assert {first["url"], second["url"]} == {URL, "https://example.com/other"}
    assert summary["type"] == "Summary"
    assert summary["snapshots"] == {"sealed": 2}
    assert summary["exit_code"] == 0
    assert cli("list", "--status", "sealed").records[0]["results"]["succeeded"] == 1  # type: ignore[index]


@pytest.mark.default
def test_a_page_without_any_success_ends_with_3(cli: Type, put: Put) -> None:
    put(SOFT)
    done = cli("add", "--plugins", "tiny", URL)
    assert done.code == 3
    assert done.records[-1]["without_success"] == 1
    assert "Nothing to show: 1 page" in done.err
    shown = [row for row in cli("snapshot", "show", URL).records if row.get("plugin") == "tiny"]
    assert [row["output_str"] for row in shown] == ["not to be had"]


@pytest.mark.default
def test_update_tries_at_once_what_waits_for_its_retry(cli: Type, put: Put) -> None:
    put(BAD)
    done = cli("add", "--plugins", "tiny", URL)
    assert done.code == 3
    assert "Will be retried: 1 hook" in done.err
    assert cli("status").record["waiting"] == 1
    put(GOOD)
    again = cli("update", "--all")
    assert again.code == 0, again.err
    assert again.records[0]["results"] == 1
    assert cli("status").record["waiting"] == 0
    assert cli("update", "--all").records == [{"type": "Update", "results": 0, "snapshots": 0, "crawls": 0}]


def test_add_update_of_an_archived_url_runs_only_what_failed(cli: Type, put: Put) -> None:
    put(BAD)
    cli("add", "--plugins", "tiny", URL)
    put(GOOD)
    done = cli("add", "--update", "--plugins", "tiny", URL)
    assert done.code == 0, done.err
    assert len(cli("list").records) == 1


def test_run_does_what_was_queued_and_one_result_by_its_id(cli: Type, put: Put) -> None:
    put(GOOD)
    cli("add", "--bg", "--plugins", "tiny", URL)
    assert cli("run").records[-1]["snapshots"] == {"sealed": 1}
    (result,) = [row for row in cli("snapshot", "show", URL).records if row.get("plugin") == "tiny"]
    assert result["status"] == "succeeded"
    assert cli("run", "--archiveresult", str(result["id"])).code == 0
    hooks = [row for row in cli("process", "list", "--type", "hook").records if row["plugin"] == "tiny"]
    assert len(hooks) == 2


def test_one_page_alone_is_run_and_the_others_stay_queued(cli: Type, put: Put) -> None:
    put(GOOD)
    cli("add", "--bg", "--plugins", "tiny", URL, "https://example.com/other")
    cli("add", "--bg", "--plugins", "tiny", "https://third.test/")
    done = cli("run", "--snapshot", "https://example.com/other")
    assert done.code == 0, done.err
    assert done.records[-1]["snapshots"] == {"sealed": 1}
    statuses = {str(row["url"]): row["status"] for row in cli("list").records}
    assert statuses == {URL: "queued", "https://example.com/other": "sealed", "https://third.test/": "queued"}
    assert cli("run").records[-1]["snapshots"] == {"sealed": 3}


@pytest.mark.default
def test_the_tree_goes_from_the_command_to_the_hook(cli: Type, put: Put) -> None:
    put(GOOD)
    cli("add", "--plugins", "tiny", URL)
    nodes = cli("process", "tree", "--limit", "20").records
    depths = {(node["type"], node.get("process_type"), node.get("plugin")): node["depth"] for node in nodes}
    path = [
        depths[key]
        for key in (
            ("Process", "cli", ""),
            ("Process", "orchestrator", ""),
            ("Crawl", None, None),
            ("Snapshot", None, None),
            ("Process", "hook", "tiny"),
        )
    ]
    assert path == [0, 1, 3, 4, 5]
    hook = next(node for node in nodes if node.get("plugin") == "tiny")
    assert (hook["exit_code"], hook["status"]) == (0, "exited")


@pytest.mark.default
@first_by_default(1, ("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_work_is_kept_and_goes_on_with_run(
    cli: Type, put: Put, start: Callable[..., subprocess.Popen[str]], signum: signal.Signals, code: int
) -> None:
    put(HANGS)
    adding = start("add", "--plugins", "tiny", URL)
    hook = running_hook(cli)
    adding.send_signal(signum)
    out, err = adding.communicate(timeout=100)
    assert adding.returncode == code
    assert "Stopping." in err
    assert json.loads(out.splitlines()[0])["type"] == "Crawl"
    assert not psutil.pid_exists(int(str(hook["pid"])))
    assert cli("process", "list", "--running").records[1:] == []
    row = next(row for row in cli("process", "list", "--type", "cli").records if row["pid"] == adding.pid)
    assert row["exit_code"] == code
    assert cli("list").record["status"] == "queued"
    put(GOOD)
    assert cli("run").code == 0
    assert cli("list").record["status"] == "sealed"


@pytest.mark.once
def test_a_terminal_that_is_closed_ends_all_and_that_is_on_record(cli: Type, put: Put, tmp_path: Path) -> None:
    put(HANGS)
    terminal, its_end = os.openpty()
    words = [sys.executable, "-m", "archivebox", "add", "--plugins", "tiny", URL]
    adding = subprocess.Popen(
        words, cwd=tmp_path, env=environment(tmp_path), stdin=its_end, stdout=its_end, stderr=its_end
    )
    os.close(its_end)
    hook = running_hook(cli)
    os.close(terminal)
    adding.send_signal(signal.SIGHUP)
    assert adding.wait(100) == 129
    assert not psutil.pid_exists(int(str(hook["pid"])))
    row = next(row for row in cli("process", "list", "--type", "cli").records if row["pid"] == adding.pid)
    assert (row["status"], row["exit_code"]) == ("exited", 129)
    assert cli("list").record["status"] == "queued"


def test_a_running_hook_is_seen_read_and_ended(
    cli: Type, put: Put, start: Callable[..., subprocess.Popen[str]]
) -> None:
    put(HANGS)
    adding = start("add", "--plugins", "tiny", URL)
    hook = running_hook(cli)
    for kind in ("orchestrator", "worker"):
        rows = cli("process", "list", "--running", "--type", kind).records
        (pid,) = [int(str(row["pid"])) for row in rows if row["worker_type"] in ("", kind)]
        assert psutil.Process(pid).cmdline() == ["archivebox", kind]
    assert cli("status").record["running"] == 1
    assert cli("status").record["orchestrator"] is True
    assert cli("process", "tail", str(hook["id"])).out == "begun\n"
    assert cli("process", "show", str(hook["pid"])).record["hook_name"] == "on_Snapshot__60_tiny.sh"
    assert "starts it now" in cli("add", "--bg", "--plugins", "tiny", "https://example.com/second").err
    ended = cli("process", "kill", str(hook["id"]))
    assert (ended.code, ended.record["status"], ended.record["end_reason"]) == (0, "exited", "cancelled")
    adding.communicate(timeout=100)
    assert adding.returncode == 3
    (result,) = [row for row in cli("snapshot", "show", URL).records if row.get("plugin") == "tiny"]
    assert (result["status"], result["reason"]) == ("skipped", "cancelled")


@pytest.mark.once
def test_a_limit_of_files_with_which_nothing_works_is_said(cli: Type, put: Put, tmp_path: Path) -> None:
    put(GOOD)
    cli("add", "--bg", "--plugins", "tiny", URL)
    words = ["/bin/sh", "-c", 'ulimit -n 128; exec "$@"', "sh", sys.executable, "-m", "archivebox", "run"]
    done = subprocess.run(words, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert (done.returncode, "only 128 files open" in done.stderr) == (2, True), done.stderr
    assert cli("list").record["status"] == "queued"


@pytest.mark.once
def test_what_a_hook_printed_is_shown_once_its_page_is_sealed(cli: Type, put: Put) -> None:
    put("#!/bin/bash\necho said to people | tee page.txt\necho warned >&2\n")
    assert cli("add", "--plugins", "tiny", URL).code == 0
    (hook,) = cli("process", "list", "--type", "hook").records
    assert cli("process", "tail", str(hook["id"])).out == "said to people\n"
    assert cli("process", "tail", "--stderr", str(hook["id"])).out == "warned\n"
    shown = cli("process", "show", str(hook["id"])).record
    assert shown["stdout_file"] == shown["stderr_file"]
    (line,) = Path(str(shown["stdout_file"])).read_text().splitlines()
    run = json.loads(line)
    assert (run["stdout.log"], run["stderr.log"]) == ("said to people\n", "warned\n")


@pytest.mark.once
def test_following_a_log_ends_with_its_process(
    cli: Type, put: Put, start: Callable[..., subprocess.Popen[str]]
) -> None:
    put("#!/bin/bash\necho begun\nwhile [ ! -e ../../go ]; do sleep 0.1; done\necho ended\n")
    start("add", "--plugins", "tiny", URL)
    hook = running_hook(cli)
    follower = start("process", "tail", "--follow", str(hook["id"]))
    assert follower.stdout is not None
    assert follower.stdout.readline() == "begun\n"
    Path(str(hook["pwd"]), "../../go").resolve().touch()
    assert follower.stdout.read() == "ended\n"
    assert follower.wait(timeout=60) == 0


@pytest.mark.once
def test_the_log_keeps_what_the_setting_wants(cli: Type, collection: Path, put: Put) -> None:
    put(GOOD)
    log = collection / "logs" / "orchestrator.log"
    cli("add", "--plugins", "tiny", URL, LOG_LEVEL="ERROR")
    assert log.read_text() == ""
    cli("add", "--plugins", "tiny", URL)
    assert "INFO" in log.read_text()
    refused = cli("list", LOG_LEVEL="LOUD")
    assert refused.code == 2
    assert "LOG_LEVEL" in refused.err
    assert "DEBUG" in refused.err
