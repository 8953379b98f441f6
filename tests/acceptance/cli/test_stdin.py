"""What a command that changes pages takes from each kind of stdin: records choose, and nothing said is never all."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import status_triggers
from tests.acceptance.cli.conftest import Typed, environment, typist
from tests.empty import make_empty
from tests.forked import CommandLine, run_command
from tests.marks import first_by_default, these_by_default

pytestmark = [pytest.mark.default, pytest.mark.once]

FIRST, SECOND, THIRD = "https://example.com/first", "https://example.com/second", "https://example.com/third"
TINY = "#!/bin/bash\necho kept > page.txt\n"

Give = Callable[[ExitStack, bytes, Path], int]


def through_pipe(stack: ExitStack, data: bytes, _folder: Path) -> int:
    reading, writing = os.pipe()
    stack.callback(os.close, reading)
    os.write(writing, data)
    os.close(writing)
    return reading


def from_file(stack: ExitStack, data: bytes, folder: Path) -> int:
    path = folder / "given.jsonl"
    path.write_bytes(data)
    return stack.enter_context(path.open("rb")).fileno()


def from_nowhere(stack: ExitStack, _data: bytes, _folder: Path) -> int:
    return stack.enter_context(Path(os.devnull).open("rb")).fileno()


def through_socket(stack: ExitStack, data: bytes, _folder: Path) -> int:
    reading, writing = map(stack.enter_context, socket.socketpair())
    writing.sendall(data)
    writing.shutdown(socket.SHUT_WR)
    return reading.fileno()


def at_terminal(stack: ExitStack, _data: bytes, _folder: Path) -> int:
    keyboard, terminal = os.openpty()
    stack.callback(os.close, keyboard)
    stack.callback(os.close, terminal)
    return terminal


class Kind(NamedTuple):
    """A kind of stdin, and how many of two pages each command takes; None: it is refused with status 2."""

    give: Give | None
    records: bool
    update: int | None
    remove: int | None
    export: int | None
    adds: bool


KINDS = {
    "terminal": Kind(at_terminal, False, 2, None, 2, False),
    "pipe with records": Kind(through_pipe, True, 1, 1, 1, True),
    "empty pipe": Kind(through_pipe, False, 0, 0, 0, False),
    "closed": Kind(None, False, None, None, None, False),
    "nothing": Kind(from_nowhere, False, None, None, None, False),
    "file with records": Kind(from_file, True, 1, 1, 1, True),
    "empty file": Kind(from_file, False, 0, 0, 0, False),
    "socket": Kind(through_socket, True, None, None, None, False),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with two pages, each with one result."""
    folder = tmp_path_factory.mktemp("stdin")
    make_empty(folder / "data")
    plugin = folder / "data" / "plugins" / "tiny"
    plugin.mkdir()
    (plugin / "on_Snapshot__60_tiny.sh").write_text(TINY)
    assert typist(folder)("add", "--plugins", "tiny", FIRST, SECOND).code == 0
    return folder


Run = Callable[..., Typed]


@pytest.fixture
def run(home: Path, tmp_path: Path) -> Run:
    """Runs a command with stdin of a kind; beforehand the results of both pages have failed."""
    with sqlite3.connect(home / "data" / "index.sqlite3") as database:
        database.execute(f"INSERT INTO {status_triggers.PAUSE} VALUES (1)")
        database.execute("UPDATE core_archiveresult SET status = 'failed', reason = 'timeout', retry_at = NULL")
        database.execute(f"DELETE FROM {status_triggers.PAUSE}")

    def run_(kind: Kind, data: bytes, *words: str) -> Typed:
        env = {**environment(home), "PLUGINS": "tiny"}
        if kind.give is None:
            command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "archivebox", *words]
            started = subprocess.run(command, cwd=home, env=env, capture_output=True, timeout=120, check=False)
            return Typed(started.returncode, started.stdout.decode(), started.stderr.decode())
        with ExitStack() as stack:
            given = kind.give(stack, data, tmp_path)
            done = run_command(CommandLine(words, env, home), given, timeout=120)
        return Typed(done.code, done.out.decode(), done.err.decode())

    return run_


def record(url: str) -> bytes:
    return json.dumps({"type": "Snapshot", "url": url}).encode() + b"\n"


@pytest.mark.parametrize("name", these_by_default(KINDS, {"terminal", "pipe with records", "closed"}))
def test_each_kind_of_stdin_chooses_what_it_says_and_never_all(name: str, run: Run) -> None:
    kind = KINDS[name]
    data = record(FIRST) if kind.records else b""
    updated = run(kind, data, "update", "--bg")
    removed = run(kind, data, "remove")
    exported = run(kind, data, "export", "--bg", "--format", "jsonl")
    for done, wanted in ((updated, kind.update), (removed, kind.remove), (exported, kind.export)):
        assert (done.code == 2) is (wanted is None), done.err
        assert ("--all" in done.err) is (wanted is None), done.err
    if kind.update is not None:
        assert updated.record["results"] == kind.update
    if kind.remove:
        assert "1 snapshot would be removed" in removed.err
        assert removed.record["url"] == FIRST
    if kind.export:
        assert exported.record["total"] == (kind.export if kind.records else None)
    ran = run(kind, record(f"{THIRD}/{kind.adds}") if kind.records else b"", "run")
    assert ran.code == 0, ran.err
    added = [row for row in ran.records if row["type"] == "Crawl"]
    assert [row["urls"] for row in added] == ([f"{THIRD}/{kind.adds}"] if kind.adds else [])


def test_a_dash_reads_records_whatever_stdin_is_and_options_narrow_them(run: Run) -> None:
    plug, both = KINDS["socket"], record(FIRST) + record(SECOND)
    assert run(plug, both, "update", "--bg", "-").record["results"] == 2
    assert run(plug, both, "remove", "-", SECOND).record["url"] == SECOND
    assert run(plug, both, "export", "--bg", "-", "url:second").record["total"] == 1
    assert run(KINDS["closed"], b"", "update", "-").code == 2


def test_all_takes_all_without_reading_and_excludes_a_choice(run: Run) -> None:
    pages = len(run(KINDS["nothing"], b"", "list").records)
    assert run(KINDS["empty pipe"], b"", "update", "--bg", "--all").record["results"] == pages
    assert len(run(KINDS["nothing"], b"", "remove", "--all").records) == pages
    assert run(KINDS["nothing"], b"", "export", "--bg", "--all").record["total"] is None
    for words in (["update", "--all", FIRST], ["remove", "--all", "-"], ["export", "--all", "first"]):
        assert run(KINDS["nothing"], b"", *words).code == 2


def test_who_holds_a_pipe_open_is_told_that_it_is_read(home: Path) -> None:
    command = [sys.executable, "-m", "archivebox", "run"]
    running = subprocess.Popen(
        command, cwd=home, env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stderr is not None
    assert b"Waiting for records on stdin" in running.stderr.readline()
    running.communicate(timeout=120)
    assert running.returncode in (0, 3)


@first_by_default(
    3,
    ("command", "data", "sentence"),
    [
        ("update", record(FIRST) + b"no record\n", "stdin, line 2"),
        ("update", b'{"type":"Snapshot","id":"01900000-0000-7000-8000-000000000000"}\n', "no snapshot"),
        ("remove", b'{"type":"Snapshot"}\n', "line 1"),
        ("export", b'{"type":"Crawl"}\n', "line 1"),
        ("run", b'{"type":"Snapshot","id":7}\n', "line 1"),
        ("run", record(THIRD) + b'{"type":"Snapshot"}\n', "line 2"),
        ("run", b'{"type":"Crawl","urls":"https://example.com/","tags_str":"a"}\n', "line 1: tags_str of a new Crawl"),
        (
            "run",
            b"https://example.com/\nhttps://me:secret@example.com/\n",
            "line 2: https://example.com/ was not added",
        ),
    ],
)
def test_one_line_that_names_nothing_and_nothing_is_done(run: Run, command: str, data: bytes, sentence: str) -> None:
    done = run(KINDS["pipe with records"], data, command)
    assert (done.code, done.out) == (2, ""), done.err
    assert sentence in done.err


def test_what_a_command_prints_can_be_piped_into_the_next(run: Run) -> None:
    pipe = KINDS["pipe with records"]
    listed = run(KINDS["nothing"], b"", "list", SECOND).out.encode()
    assert run(pipe, listed, "update", "--bg").record["results"] == 1
    crawl = run(KINDS["nothing"], b"", "crawl", "list").out.encode()
    assert len(run(pipe, crawl.splitlines()[-1], "remove").records) == 2
    again = run(pipe, listed, "run")
    assert SECOND in [row["url"] for row in again.records if row["type"] == "Snapshot"]
    assert [row["type"] for row in again.records if row["type"] == "Crawl"] == []
    summary = b'{"type":"Summary","snapshots":{"sealed":2}}\n'
    left_out = run(pipe, summary, "update", "--bg")
    assert left_out.record["results"] == 0
    assert "Summary" in left_out.err


def test_the_pipes_that_are_documented_read_as_they_are_typed(run: Run, home: Path) -> None:
    """Each command gets the records that the one before it printed, and their ends are what was asked for."""
    asked = home / "data" / "plugins" / "asked"
    asked.mkdir(exist_ok=True)
    (asked / "on_Snapshot__60_asked.sh").write_text(TINY)

    def piped(*commands: str) -> Typed:
        done = run(KINDS["nothing"], b"", *commands[0].split())
        for command in commands[1:]:
            done = run(KINDS["pipe with records"], done.out.encode(), *command.split())
        assert done.code == 0, done.err
        return done

    made = piped(f"crawl create --tag a {THIRD}/piped", "snapshot create", "run")
    assert [row["status"] for row in made.records if row["type"] == "Snapshot"] == ["sealed"]
    (changed,) = piped("snapshot list --tag a", "snapshot update --tag b").records
    assert changed["tags"] == ["a", "b"]
    piped("list --tag b", "archiveresult create --plugins asked", "run")
    results = piped("tag list --name b", "list -", "archiveresult list -").records
    assert {row["plugin"]: row["status"] for row in results} == {"tiny": "succeeded", "asked": "succeeded"}
