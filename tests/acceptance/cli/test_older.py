"""Folders of older ArchiveBoxes and of other programs: named, refused, and not changed by a byte."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from archivebox.config.origin import APPLICATION_ID
from tests import older
from tests.acceptance.cli.conftest import Type
from tests.databases import forget_database_of

COMMANDS = (
    ["init"], ["add", "https://example.com/"], ["server", "127.0.0.1:0"], ["status"], ["doctor"], ["list"],
    ["run"], ["update"], ["install", "--dry-run"], ["config", "set", "TIMEOUT=3"], ["config", "get", "TIMEOUT"],
    ["manage", "migrate"], ["orchestrator"],
)  # fmt: skip


@pytest.mark.parametrize("kind", older.KINDS)
def test_a_folder_that_is_not_ours_is_refused_by_name_and_left_alone(cli: Type, tmp_path: Path, kind: str) -> None:
    folder = older.make(tmp_path / "old", kind)
    before = older.digest(folder)
    maker = {"0.7": "ArchiveBox 0.4 to 0.7", "another program": "another program"}.get(kind, "ArchiveBox 0.8 or 0.9")
    for words in COMMANDS:
        done = cli(*words, DATA_DIR=str(folder))
        assert (done.code, done.out) == (2, ""), words
        assert maker in done.err
        assert "--data-dir" in done.err
        assert "Traceback" not in done.err
        assert older.digest(folder) == before, words


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["init"], ""),
        (["add", "--bg", "https://example.com/"], ""),
        (["doctor"], ""),
        (["list"], ""),
        (["init"], "archive"),
        (["add", "--bg", "https://example.com/"], "archive/1600000000.0"),
    ],
)
def test_an_older_archive_in_the_current_folder_is_seen_before_data_is_made(
    cli: Type, tmp_path: Path, words: list[str], place: str
) -> None:
    folder = older.make(tmp_path / "old", "0.7")
    before = older.digest(folder)
    done = cli(*words, cwd=folder / place)
    assert done.code == 2
    assert f"{folder} contains an archive of ArchiveBox 0.4 to 0.7" in done.err
    assert older.digest(folder) == before
    assert cli("--data-dir", str(tmp_path / "new"), *words, cwd=folder).code in {0, 1, 2}
    assert older.digest(folder) == before


def test_below_an_older_archive_but_not_in_its_folders_a_collection_is_made(cli: Type, tmp_path: Path) -> None:
    other = older.make(tmp_path / "old", "0.7") / "other"
    other.mkdir()
    assert cli("init", cwd=other).code == 0
    assert (other / "data" / "index.sqlite3").is_file() or os.environ.get("DATABASE_URL")


def test_another_programs_file_in_the_current_folder_is_passed_by(cli: Type, tmp_path: Path) -> None:
    folder = older.make(tmp_path / "project", "another program")
    before = older.digest(folder)
    assert cli("init", cwd=folder).code == 0
    after = older.digest(folder)
    assert {path: after[path] for path in before} == before
    assert all(path.startswith("data") for path in set(after) - set(before))


def test_a_database_that_lost_its_mark_in_a_dump_goes_on_and_is_marked(cli: Type, collection: Path) -> None:
    cli("add", "--bg", "https://example.com/")
    database = collection / "index.sqlite3"
    assert mark(database) == APPLICATION_ID
    with closing(sqlite3.connect(database)) as unmarked:
        unmarked.execute("PRAGMA application_id=0")
    for stamp in collection.glob("run/schema.*"):
        stamp.write_text(stamp.read_text().replace("application_id", ""))
    assert cli("list").record["url"] == "https://example.com/"
    assert mark(database) == APPLICATION_ID


@pytest.mark.database
@pytest.mark.usefixtures("collection")
def test_a_database_that_was_deleted_is_made_anew_where_that_is_said(cli: Type, tmp_path: Path) -> None:
    for words in (["init"], ["add", "--bg", "https://example.com/"], ["status"]):
        forget_database_of(tmp_path / "data")
        assert cli("init", "--force").code == 0
        done = cli(*words)
        assert done.code == 0, done.err


def test_a_copy_without_its_run_folder_is_still_a_collection(cli: Type, collection: Path) -> None:
    cli("add", "--bg", "https://example.com/")
    shutil.rmtree(collection / "run")
    assert cli("list").record["url"] == "https://example.com/"
    shutil.rmtree(collection / "run")
    assert cli("list", cwd=collection).record["url"] == "https://example.com/"


def mark(database: Path) -> int:
    return int.from_bytes(database.read_bytes()[68:72])
