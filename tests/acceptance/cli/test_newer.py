"""A collection that a newer version has changed is refused before anything is written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import typist


def processes(database: Path) -> int:
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        count: int = connection.execute("SELECT COUNT(*) FROM machine_process").fetchone()[0]
    return count


@pytest.mark.once  # the row of a file is written past the program
def test_a_newer_versions_collection_is_left_as_it_is(tmp_path: Path) -> None:
    cli = typist(tmp_path)
    assert cli("init").code == 0
    database = tmp_path / "data" / "index.sqlite3"
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        insert = "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2030-01-01')"
        connection.execute(insert, ["auth", "0099_of_a_newer_django"])
    assert cli("status").code == 0, "that is none of ours"
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        connection.execute(insert, ["core", "0999_from_the_future"])
    before = processes(database)
    for words in (["status"], ["add", "--bg", "http://127.0.0.1:9/"], ["run"], ["init"], ["server"]):
        refused = cli(*words)
        assert (refused.code, "newer version of ArchiveBox" in refused.err) == (2, True), refused.err
        assert "core.0999_from_the_future" in refused.err
    assert processes(database) == before
