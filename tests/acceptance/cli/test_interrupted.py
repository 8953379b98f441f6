"""`add` stopped or killed in the middle of accepting: nobody waits for it, and nothing stays that no row names."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from archivebox.lib.files import locked
from tests.acceptance.cli.conftest import Type, environment

MANY = "".join(f"https://example.com/{number}\n" for number in range(30_000))


def accepting(tmp_path: Path) -> subprocess.Popen[bytes]:
    """An `add` that is in the middle of its transaction: it holds the place of the writer, and rows are written."""
    given = tmp_path / "many.txt"
    given.write_text(MANY)
    log = tmp_path / "data" / "index.sqlite3-wal"
    size = log.stat().st_size if log.exists() else 0
    adding = subprocess.Popen(
        [sys.executable, "-m", "archivebox", "add", "--bg", "--file", str(given)],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,  # with a parent outside its group: else the kernel drops what a terminal would send
    )
    while not is_writing(tmp_path / "data") or log.stat().st_size < size + 1_000_000:
        assert adding.poll() is None, adding.stdout and adding.stdout.read()
        time.sleep(0.001)
    return adding


def is_writing(folder: Path) -> bool:
    with locked(folder / "run" / "write.lock", blocking=False) as free:
        return free is None


def named_and_kept(folder: Path) -> tuple[list[str], list[str]]:
    """Copies of what was given, as crawls name them, and as they lie there; a crawl that is being added names none."""
    with closing(sqlite3.connect(folder / "index.sqlite3")) as database:
        of_whole = database.execute("SELECT source FROM crawls_crawl WHERE reason != 'being_added'")
        named = [str(row[0]) for row in of_whole]
    return sorted(named), sorted(f"sources/{path.name}" for path in (folder / "sources").glob("*.txt"))


def test_ctrl_z_in_the_middle_of_accepting_stops_nobody_else(cli: Type, collection: Path, tmp_path: Path) -> None:
    adding = accepting(tmp_path)
    adding.send_signal(signal.SIGTSTP)
    os.waitpid(adding.pid, os.WUNTRACED)
    assert not is_writing(collection)
    assert cli("list", "--limit", "1").code == 0
    adding.send_signal(signal.SIGCONT)
    adding.communicate()
    assert adding.returncode == 0
    named, kept = named_and_kept(collection)
    assert named == kept


@pytest.mark.default
def test_an_add_that_is_killed_is_lost_and_leaves_no_copy(cli: Type, collection: Path, tmp_path: Path) -> None:
    adding = accepting(tmp_path)
    adding.kill()
    adding.communicate()
    assert named_and_kept(collection) == ([], [])
    (row,) = [row for row in cli("process", "list", "--type", "cli").records if row["pid"] == adding.pid]
    assert (row["status"], row["exit_code"], row["end_reason"]) == ("exited", None, "lost")
    cli("add", "--bg", "https://example.com/")
    named, kept = named_and_kept(collection)
    assert (len(named), named) == (1, kept)
    assert list((collection / "sources" / ".incoming").iterdir()) == []


def test_a_copy_whose_add_was_killed_after_its_commit_is_put_into_place(cli: Type, collection: Path) -> None:
    cli("add", "--bg", "https://example.com/")
    (name,) = named_and_kept(collection)[1]
    (collection / name).rename(collection / "sources" / ".incoming" / Path(name).name)
    cli("add", "--bg", "https://example.com/2")
    named, kept = named_and_kept(collection)
    assert (len(named), named) == (2, kept)


IMPATIENT = """
import runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "archivebox.cli.main":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["archivebox", "list"]
runpy.run_module("archivebox", run_name="__main__")
"""


@pytest.mark.once
def test_an_interrupt_while_modules_are_imported_is_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", IMPATIENT], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
