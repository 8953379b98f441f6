"""What is archived is backed up while it is used, and found again in a new place."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.cli.conftest import Type, typist
from tests.databases import database_of, drop_database_of

pytestmark = pytest.mark.default

HOOK = "#!/bin/sh\necho said > said.txt\n"
URLS = ["http://127.0.0.1:9/one", "http://127.0.0.1:9/two"]
OF_COMMANDS = {"machine_process", "machine_machine"}
"""Tables in which each command leaves a row."""


def archive(cli: Type, folder: Path) -> None:
    hook = folder / "plugins" / "tiny" / "on_Snapshot__50_tiny.sh"
    hook.parent.mkdir(parents=True, exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    done = cli("add", "--plugins=tiny,hashes", "--tag=kept", *URLS)
    assert done.code == 0, done.err


def rows(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, but for those that commands leave."""
    url = database_of(folder).get("DATABASE_URL")
    if url:
        with psycopg.connect(url) as server:
            tables = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            return {
                name: sorted(map(tuple, server.execute(f'SELECT * FROM "{name}"'.encode()).fetchall()), key=repr)
                for (name,) in tables
                if name not in OF_COMMANDS
            }
    with closing(sqlite3.connect(folder / "index.sqlite3")) as file:
        query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        return {
            name: sorted(file.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
            for (name,) in file.execute(query).fetchall()
            if name not in OF_COMMANDS
        }


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in (folder / "users").rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.database
def test_a_restored_collection_has_equal_rows_and_digests(cli: Type, collection: Path, tmp_path: Path) -> None:
    archive(cli, collection)
    before = rows(collection)
    made = cli("backup", str(tmp_path / "dest"))
    assert made.code == 0, made.err
    assert cli("backup", "verify", str(tmp_path / "dest")).record["is_whole"]
    (listed,) = cli("backup", "list", str(tmp_path / "dest")).records
    assert listed["backup"] == made.record["backup"]

    new = tmp_path / "new" / "data"
    new.parent.mkdir()
    elsewhere = typist(new.parent)
    done = elsewhere("restore", str(tmp_path / "dest"), "--data-dir", str(new))
    assert done.code == 0, done.err
    assert rows(new) == before
    assert files(new) == files(collection)
    assert elsewhere("restore", str(tmp_path / "dest"), "--data-dir", str(new)).code == 2

    assert [record["url"] for record in elsewhere("list").records] == [record["url"] for record in cli("list").records]
    for url in URLS:
        seen = elsewhere("snapshot", "verify", url)
        assert (seen.code, seen.record["is_whole"]) == (0, True), seen.err
    assert {record["url"] for record in elsewhere("search", "#kept").records} == set(URLS)
    drop_database_of(new)


@pytest.mark.once
def test_pages_whose_files_are_gone_are_named_and_the_backup_is_made(
    cli: Type, collection: Path, tmp_path: Path
) -> None:
    archive(cli, collection)
    (gone, *_) = sorted((collection / "users").glob("*/snapshots/*/*/*/tiny/said.txt"))
    gone.unlink()
    done = cli("backup", str(tmp_path / "dest"))
    assert (done.code, done.record["damaged"]) == (3, [str(gone.relative_to(collection))])
    assert str(gone.relative_to(collection)) in done.err
    assert cli("backup", "verify", str(tmp_path / "dest")).code == 0


@pytest.mark.slow
@pytest.mark.once
def test_what_cannot_be_done_is_said(cli: Type, collection: Path, tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    (tmp_path / "link").symlink_to(collection)
    assert cli("backup", str(dest)).code == 0
    for words, reason in (
        (["backup", str(collection / "dest")], "in the collection itself"),
        (["backup", str(tmp_path / "link" / "dest")], "in the collection itself"),
        (["backup", str(dest), "list"], "unexpected"),
        (["backup", "verify", str(tmp_path)], "no complete backup"),
        (["backup", "verify", str(dest), "2020-01-01T00-00-00Z"], "no backup 2020"),
        (["backup", "prune", str(dest)], "--keep-daily"),
        (["backup", "list", "/no/such"], "not a folder of backups"),
        (["restore", str(dest)], "is not empty"),
    ):
        done = cli(*words)
        assert (done.code, reason in done.err) == (2, True), done.err
    file = next(dest.glob("*/data/index.sqlite3"))
    with file.open("r+b") as opened:
        opened.seek(1000)
        opened.write(b"damage")
    damaged = cli("backup", "verify", str(dest))
    assert (damaged.code, damaged.record["changed"]) == (1, ["data/index.sqlite3"])
    assert cli("backup", str(dest), "--verify").code == 0
    dry = cli("backup", "prune", str(dest), "--keep-last", "1", "--dry-run").record
    assert cli("backup", "prune", str(dest), "--keep-last", "1").record["deleted"] == dry["deleted"]
    assert len(list(dest.glob("20*"))) == 1
    last = next(record for record in cli("doctor").records if record["name"] == "backup")
    assert str(dest) in json.dumps(last)
    assert str(dest) in str(cli("status").record["last_backup"])
