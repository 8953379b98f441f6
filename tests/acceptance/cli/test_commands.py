"""Looking, changing, setting up: each command says what it did, in JSON in a pipe, and leaves its row."""

from __future__ import annotations

import os
import pty
import re
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from archivebox.contract import reasons
from tests.acceptance.cli.conftest import Type, environment, typist
from tests.empty import make_empty
from tests.marks import first_by_default

pytestmark = pytest.mark.default

GOOD = "https://example.com/page"


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an empty collection, for commands that change nothing."""
    folder = tmp_path_factory.mktemp("untouched")
    make_empty(folder / "data")
    assert typist(folder)("status").code == 0
    return folder


@pytest.fixture(scope="module")
def one_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a collection that has a page, for commands that leave it as it is."""
    folder = tmp_path_factory.mktemp("one-page")
    make_empty(folder / "data")
    assert typist(folder)("add", "--bg", GOOD).code == 0
    return folder


@first_by_default(4,
    "words",
    [
        ["status"], ["list"], ["search", "x"], ["crawl", "list"], ["schedule", "list"], ["process", "list"],
        ["process", "tree"],
        ["machine", "list"], ["binary", "list"], ["remove", "--yes", GOOD], ["update"], ["run"],
        ["config", "set", "TIMEOUT=3"],
    ],
)  # fmt: skip
def test_without_a_collection_a_command_says_so_and_makes_none(cli: Type, tmp_path: Path, words: list[str]) -> None:
    done = cli(*words)
    assert done.code == 2
    assert "archivebox init" in done.err
    assert list(tmp_path.iterdir()) == []


@first_by_default(
    3,
    "words",
    [
        ["status"], ["search", "example"], ["doctor"], ["plugin", "list"], ["update", "--bg", "--all"],
        ["list"], ["crawl", "list", "--open"], ["process", "list"],
        ["process", "list", "--failed", "--type", "cli"], ["process", "tree"], ["machine", "list"], ["binary", "list"],
        ["config", "list", "--all"], ["config", "explain", "TIMEOUT"], ["config", "get", "TIMEOUT", "save_wget"],
        ["archiveresult", "list"], ["job", "list"], ["persona", "list"], ["schedule", "list"], ["snapshot", "list"],
        ["tag", "list"], ["token", "list"], ["storage", "gc"],
        ["plugin", "show", "wget"], ["plugin", "lint"], ["install", "--dry-run"],
        ["version", "--verbose"], ["init"],
        ["manage", "cleanup_processes", "--older-than=30d"],
    ],
)  # fmt: skip
def test_every_command_speaks_json_lines_in_a_pipe(one_page: Path, words: list[str]) -> None:
    """Each in a Python of its own: it imports what it needs."""
    done = typist(one_page, may_be_forked=False)(*words)
    assert done.code == 0, done.err
    assert all(isinstance(record["type"], str) for record in done.records)


@first_by_default(
    8,
    ("words", "reason"),
    [
        (["lst"], "Did you mean `archivebox list`?"),
        (["https://example.com/"], "archivebox add"),
        (["list", "--status", "done"], "status"),
        (["list", "--before", "someday"], "not a time"),
        (["list", "https://nowhere.test/"], "no snapshot of"),
        (["list", "--limit", "0"], "limit"),
        (["snapshot", "show", "zzz"], "not the id of a snapshot"),
        (["snapshot", "show", "https://nowhere.test/"], "no snapshot of"),
        (["crawl", "pause", "0123456789abcdef"], "no crawl"),
        (["process", "show", "999999"], "pid 999999"),
        (["process", "kill", "1"], "pid 1"),
        (["remove", "--tag", "none"], "No snapshots match"),
        (["update", "--plugins", "nothing"], "no plugin nothing"),
        (["run", "--daemon", "--crawl", "0123456789abcdef"], "choose one"),
        (["config", "get", "NOPE"], "no setting NOPE"),
        (["config", "set", "TIMEOUT=-1"], "at least 1"),
        (["install", "nothing"], "No plugin needs"),
        (["plugin", "show", "nothing"], "no plugin nothing"),
        (["plugin", "run", "wget", "file:///etc/passwd"], "not archived"),
        (["plugin", "lint", "/nowhere"], "neither a plugin nor a folder"),
        (["server", "nonsense"], "not an address"),
        (["server", "127.0.0.1:8000", "--replay", "127.0.0.1:8000"], "port or host of their own"),
        (["manage", "cleanup_processes"], "--older-than"),
        (["manage", "cleanup_processes", "--older-than=soon"], "length of time"),
        (["help", "nothing"], "no command"),
    ],
)
def test_bad_input_is_a_sentence_and_status_2(untouched: Path, words: list[str], reason: str) -> None:
    done = typist(untouched)(*words)
    assert done.code == 2
    assert reason in done.err
    assert "Traceback" not in done.err
    assert not (untouched / "data" / "logs" / "cli.log").read_text()


@pytest.mark.database
def test_the_row_of_a_command_tells_how_it_ended(cli: Type, collection: Path) -> None:
    cli("snapshot", "show", "zzz")
    row = cli("process", "list", "--type", "cli", "--failed").record
    assert (row["exit_code"], row["end_reason"], row["status"]) == (2, "exited", "exited")
    assert "not the id of a snapshot" in str(row["stderr"])
    assert str(row["cmd"]).endswith("'archivebox', 'snapshot', 'show', 'zzz']")
    cli("list")
    (listed,) = [row for row in cli("process", "list", "--type", "cli").records if str(row["cmd"]).endswith("'list']")]
    assert (listed["exit_code"], listed["end_reason"], listed["status"]) == (0, "exited", "exited")
    assert collection.is_dir()


def test_version_and_help_open_nothing(cli: Type, collection: Path) -> None:
    before = len(cli("process", "list").records)
    for words in (
        ["version"],
        ["--version"],
        ["version", "--verbose"],
        ["help"],
        ["add", "--help"],
        ["help", "add"],
        [],
    ):
        assert cli(*words).code == 0
    assert len(cli("process", "list").records) == before + 1
    assert collection.is_dir()


def test_our_own_error_is_a_sentence_and_its_traceback_is_in_the_log(cli: Type, collection: Path) -> None:
    (collection / "index.sqlite3").write_bytes(b"this was a database")
    for name in ("index.sqlite3-wal", "index.sqlite3-shm"):
        (collection / name).unlink(missing_ok=True)
    done = cli("list")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert str(collection / "logs" / "cli.log") in done.err
    assert "Traceback" in (collection / "logs" / "cli.log").read_text()
    sick = cli("doctor")
    assert sick.code == 1
    assert {check["name"]: check["state"] for check in sick.records}["database"] == "error"


@pytest.mark.database
def test_remove_shows_first_then_retires_and_brings_back(cli: Type, collection: Path) -> None:
    cli("add", "--bg", "--tag", "old", GOOD)
    shown = cli("remove", "--tag", "old")
    assert (shown.code, shown.record["url"]) == (0, GOOD)
    assert "Nothing was done" in shown.err
    assert len(cli("list").records) == 1
    assert cli("remove", "--tag", "old", "--yes").record["snapshots"] == 1
    assert cli("list").records == []
    assert cli("list", "--removed").record["url"] == GOOD
    assert cli("remove", "--undo", "--yes", GOOD).record["snapshots"] == 1
    assert cli("list").record["retired_at"] is None
    assert collection.is_dir()


@pytest.mark.database
def test_crawls_and_snapshots_are_paused_resumed_and_cancelled(cli: Type, collection: Path) -> None:
    crawl = str(cli("add", "--bg", GOOD).record["id"])
    snapshot = str(cli("list").record["id"])
    assert cli("crawl", "pause", crawl).record["status"] == "paused"
    assert cli("crawl", "pause", crawl).code == 2
    assert f"Paused: `archivebox crawl resume {crawl}`" in cli("add", "--update", GOOD).err
    assert cli("crawl", "resume", crawl).record["status"] == "queued"
    assert cli("snapshot", "pause", snapshot).record["status"] == "paused"
    assert cli("snapshot", "resume", snapshot).record["status"] == "queued"
    assert cli("snapshot", "cancel", snapshot).record["status"] == "cancelled"
    assert cli("crawl", "cancel", crawl).record["status"] == "cancelled"
    assert cli("snapshot", "show", GOOD).records[0]["reason"] == "cancelled"
    assert collection.is_dir()


def test_settings_are_written_checked_explained_and_taken_out(cli: Type, collection: Path) -> None:
    assert cli("config", "set", "TIMEOUT=30", "SAVE_WGET=false").code == 0
    stored = "fleet" if os.environ.get("DATABASE_URL") else "file"
    if stored == "file":
        conf = (collection / "ArchiveBox.conf").read_text()
        assert "TIMEOUT = 30" in conf
        assert "WGET_ENABLED = false" in conf
    assert [record["value"] for record in cli("config", "get", "timeout", "WGET_ENABLED").records] == [30, False]
    layers = cli("config", "explain", "TIMEOUT", TIMEOUT="40").records
    assert [(layer["source"], layer["holds"]) for layer in layers] == [
        ("default", False),
        (stored, False),
        ("environment", True),
    ]
    assert cli("config", "set", "TIMEOUT=40", "WGET_TIMEOUT=never").code == 2
    assert cli("config", "get", "TIMEOUT").record["value"] == 30
    assert cli("config", "unset", "TIMEOUT").code == 0
    assert cli("config", "get", "TIMEOUT").record["value"] == 60


def test_a_secret_setting_is_read_from_stdin_and_not_listed(cli: Type, collection: Path) -> None:
    assert cli("config", "set", "CHROME_EXTRA_HEADERS", stdin='{"Cookie": "hunter2"}\n').code == 0
    if not os.environ.get("DATABASE_URL"):
        assert "hunter2" in (collection / "ArchiveBox.conf").read_text()
    for words in (["config", "list"], ["config", "explain", "CHROME_EXTRA_HEADERS"]):
        done = cli(*words)
        assert "CHROME_EXTRA_HEADERS" in done.out
        assert "hunter2" not in done.out + done.err


def test_plugin_run_tries_a_hook_by_itself(cli: Type, collection: Path, tmp_path: Path) -> None:
    folder = collection / "plugins" / "hello"
    folder.mkdir()
    (folder / "on_Snapshot__60_hello.sh").write_text(
        "#!/bin/bash\n"
        'echo "$@" > args.txt\n'
        'echo \'{"type": "ArchiveResult", "status": "succeeded"}\'\n'
        "exit ${HELLO_TIMEOUT:-0}\n"
    )
    done = cli("plugin", "run", "hello", GOOD, "--output", str(tmp_path / "out"), "--config", "HELLO_TIMEOUT=7")
    assert done.code == 1
    assert done.records[0] == {"type": "ArchiveResult", "status": "succeeded"}
    assert done.records[1]["exit_code"] == 7
    assert f"--url={GOOD}" in (tmp_path / "out" / "hello" / "args.txt").read_text()


@pytest.mark.database
def test_old_records_are_counted_then_deleted(cli: Type, collection: Path) -> None:
    dry = cli("manage", "cleanup_processes", "--older-than=1h", "--dry-run").record
    assert (dry["succeeded"], dry["failed"], dry["dry_run"]) == (0, 0, True)
    assert cli("manage", "check").code == 0
    assert collection.is_dir()


def test_a_link_that_logs_in_is_printed(cli: Type, collection: Path) -> None:
    (collection / "ArchiveBox.conf").write_text("BIND_ADDR = 0.0.0.0:8123\n")
    done = cli("manage", "login_link")
    assert done.code == 0
    assert "No server is running here" in done.err
    assert done.out.startswith("http://127.0.0.1:8123/login/link/")
    assert len(done.out.strip().rstrip("/").rpartition("/")[2]) == 43


@pytest.mark.usefixtures("collection")
def test_the_second_factor_of_an_account_is_reset(cli: Type) -> None:
    code = (
        "from django.contrib.auth.models import User; from archivebox.accounts.models import AuthenticatorApp; "
        "AuthenticatorApp.objects.create(user=User.objects.create_user('eve'), label='Phone', secret='-')"
    )
    assert cli("manage", "shell", "-c", code).code == 0
    assert "no longer asked" in cli("manage", "reset_second_factor", "eve").out
    assert "has none" in cli("manage", "reset_second_factor", "eve").out
    refused = cli("manage", "reset_second_factor", "mallory")
    assert (refused.code, "No account named mallory." in refused.err) == (1, True)


@first_by_default(
    1,
    "words",
    [["add", "http://me:hunter2@example.com/"], ["add", "me:hunter2@example.com"], ["list", "ftp://a:hunter2@b"]],
)
def test_a_refused_password_is_not_kept(cli: Type, collection: Path, words: list[str]) -> None:
    done = cli(*words)
    assert done.code == 2
    assert "hunter2" not in cli("process", "list", "--type", "cli").out
    assert [path for path in collection.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()] == []


def test_what_a_process_printed_steers_no_terminal(cli: Type, collection: Path, tmp_path: Path) -> None:
    """Its log is gone, so that its row is read."""
    assert cli("status").code == 0
    with sqlite3.connect(collection / "index.sqlite3") as database:
        database.execute("UPDATE machine_process SET stdout = 'one' || char(27) || '[2Jtwo'")
    database.close()
    row = str(cli("process", "list", "--limit", "2").records[1]["id"])
    shown = on_a_terminal("process", "tail", row, cwd=tmp_path)
    assert "[2Jtwo" in shown
    assert "\x1b" not in shown


def test_doctor_says_what_ails_a_collection_that_init_could_not_open(cli: Type, collection: Path) -> None:
    with sqlite3.connect(collection / "index.sqlite3") as database:
        database.execute("DELETE FROM django_migrations WHERE app = 'auth'")
    database.close()
    for stamp in collection.glob("run/schema.*"):
        stamp.unlink()
    assert cli("init").code == 1
    sick = cli("doctor")
    checks = {check["name"]: check for check in sick.records}
    assert sick.code == 1
    assert checks["database"]["state"] == "error"
    assert "is applied before its dependency auth." in str(checks["database"]["sentence"])
    assert checks["disk"]["state"] != "error"


def test_old_records_go_when_work_is_done(cli: Type, collection: Path) -> None:
    assert cli("status").code == 0
    with sqlite3.connect(collection / "index.sqlite3") as database:
        database.execute("UPDATE machine_process SET id = '0190' || substr(id, 5)")  # of the summer of 2024
    database.close()
    assert cli("run", PROCESS_RETENTION_DAYS="0").code == 0
    assert [row for row in cli("process", "list").records if str(row["id"]).startswith("0190")]
    assert cli("run").code == 0
    assert not [row for row in cli("process", "list").records if str(row["id"]).startswith("0190")]


def on_a_terminal(*words: str, cwd: Path, **env: str) -> str:
    """What a command draws when stdout is a terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "archivebox", *words],
        cwd=cwd,
        env={**environment(cwd), "TERM": "xterm-256color", "COLUMNS": "160", **env},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # EIO: the terminal's other side was closed
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert child.wait() == 0
    return text.decode()


def test_a_terminal_gets_tables_and_trees_without_colour_if_asked(cli: Type, collection: Path, tmp_path: Path) -> None:
    cli("add", "--bg", GOOD)
    cli("snapshot", "show", "zzz")
    table = on_a_terminal("list", cwd=tmp_path)
    assert GOOD in table
    assert "{" not in table
    tree = on_a_terminal("process", "tree", cwd=tmp_path)
    assert "cli archivebox snapshot show zzz" in tree
    assert "exit 2" in tree
    assert "\x1b[31m" in tree
    assert "\x1b[31m" not in on_a_terminal("process", "tree", cwd=tmp_path, NO_COLOR="1")
    assert on_a_terminal("list", "--json", cwd=tmp_path).startswith('{"type":"Snapshot"')
    assert collection.is_dir()


def test_status_tells_people_what_failed_in_sentences_and_where(cli: Type, collection: Path, tmp_path: Path) -> None:
    folder = collection / "plugins" / "sad"
    folder.mkdir()
    declares = '{"type": "ArchiveResult", "status": "failed", "output_str": "It is gone"}'
    hook = folder / "on_Snapshot__60_sad.sh"
    hook.write_text(f"#!/bin/sh\necho '{declares}'\nexit 1\n")
    cli("add", "--plugins", "sad", GOOD)
    record = cli("status").record
    assert record["failed"] == {"declared": 1}
    assert record["failed_pages"] == {"declared": [GOOD]}
    shown = on_a_terminal("status", cwd=tmp_path)
    assert f"1 hook failed. {reasons.sentence('declared')}" in shown
    assert f"    {GOOD}" in shown
    assert "archivebox snapshot show URL" in shown
    assert "declared" not in shown
    assert re.search(r"free disk +[0-9.]+ [GT]B\r\n", shown)


def test_a_reader_that_goes_away_is_no_error(cli: Type, collection: Path, tmp_path: Path) -> None:
    cli("add", "--bg", stdin="".join(f"https://example.com/{number}\n" for number in range(2_000)))
    listing = subprocess.Popen(
        [sys.executable, "-m", "archivebox", "list"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert listing.stdout is not None
    assert listing.stderr is not None
    assert listing.stdout.readline().startswith(b'{"type":"Snapshot"')
    listing.stdout.close()
    assert listing.stderr.read() == b""
    assert listing.wait() == 141
    row = cli("process", "list", "--failed").record
    assert row["exit_code"] == 141
    assert collection.is_dir()


def test_a_schedule_is_made_looked_at_run_paused_and_removed(cli: Type, collection: Path) -> None:
    assert collection.is_dir()
    refused = cli("schedule", "add", "--every", "soon", GOOD)
    assert (refused.code, "not a recurring time" in refused.err) == (2, True)
    made = cli("schedule", "add", "--every", "0 6 * * 1-5", "--timezone", "Europe/Berlin", "--depth", "1", GOOD).record
    assert [one["id"] for one in cli("schedule", "list").records] == [made["id"]]
    assert cli("schedule", "run", str(made["id"])).record["schedule_id"] == made["id"]
    again = cli("schedule", "run", str(made["id"]))
    assert (again.code, "has not ended" in again.err) == (2, True)
    assert [one["type"] for one in cli("schedule", "show", str(made["id"])).records] == ["CrawlSchedule", "Crawl"]
    assert cli("schedule", "pause", str(made["id"])).record["next_at"] is None
    assert cli("schedule", "remove", str(made["id"])).code == 0
    assert cli("schedule", "list").records == []


@pytest.mark.usefixtures("collection")
def test_root_is_told_once_that_chromium_has_no_sandbox(cli: Type) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = cli("server", f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.code == 2
    assert (done.out + done.err).count("Chromium runs without its sandbox") == (os.geteuid() == 0)
