"""A folder whose pages are there and whose database is not is no empty collection: commands say how to restore it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psycopg
import pytest

from tests.acceptance.cli.conftest import typist
from tests.databases import database_of

COMMANDS = (
    "status",
    "list",
    "add --bg http://127.0.0.1:9/",
    "run",
    "init",
    "server",
    "config list",
    "backup ../copies",
)
URL = "http://127.0.0.1:9/"


@pytest.mark.once  # a SQLite file is what is lost
@pytest.mark.parametrize("left", ["nothing", "no bytes", "no run folder"])
def test_pages_without_their_database_are_refused_by_every_command(tmp_path: Path, left: str) -> None:
    cli, data = typist(tmp_path), tmp_path / "data"
    assert cli("add", "--plugins=hashes", URL).code == 0
    shutil.copytree(data, tmp_path / "whole")
    for file in data.glob("index.sqlite3*"):
        file.unlink()
    if left == "no bytes":
        (data / "index.sqlite3").touch()
    elif left == "no run folder":
        shutil.rmtree(data / "run")
    for words in COMMANDS:
        refused = cli(*words.split())
        assert (refused.code, "archivebox init --force" in refused.err) == (2, True), (words, refused)
        assert "restore" in refused.err
    looked = cli("doctor")
    assert looked.code == 1
    assert [record["name"] for record in looked.records if record.get("state") == "error"] == ["database"]
    assert not (data / "index.sqlite3").exists() or not (data / "index.sqlite3").stat().st_size
    assert not (tmp_path / "copies").exists()
    shutil.copy(tmp_path / "whole" / "index.sqlite3", data)
    assert [record["url"] for record in cli("list").records] == [URL]


@pytest.mark.once  # likewise
def test_a_collection_begins_anew_where_that_is_said(tmp_path: Path) -> None:
    cli, data = typist(tmp_path), tmp_path / "data"
    assert cli("init").code == 0
    for file in data.glob("index.sqlite3*"):
        file.unlink()
    assert cli("init").code == 2
    assert cli("init", "--force").code == 0
    assert cli("add", "--bg", URL).code == 0
    assert cli("init", "--force").code == 0, "it takes nothing away"
    assert [record["url"] for record in cli("list").records] == [URL]


@pytest.mark.database
@pytest.mark.skipif("DATABASE_URL" not in os.environ, reason="it is asked of PostgreSQL")
def test_pages_whose_database_on_a_server_has_no_tables_are_refused(tmp_path: Path) -> None:
    cli = typist(tmp_path)
    assert cli("add", "--plugins=hashes", URL).code == 0
    with psycopg.connect(database_of(tmp_path / "data")["DATABASE_URL"], autocommit=True) as server:
        server.execute("DROP SCHEMA public CASCADE")
        server.execute("CREATE SCHEMA public")
    for words in ("list", "add --bg http://127.0.0.1:9/", "init"):
        refused = cli(*words.split())
        assert (refused.code, "of DATABASE_URL has no tables" in refused.err) == (2, True), (words, refused)
    assert cli("init", "--force").code == 0
    assert cli("list").records == []
