"""A collection of another version: a copy is kept before its database is upgraded, or it is refused and left alone."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type
from tests.databases import change_database

LATEST = "admin.0003_logentry_add_action_flag_choices"
"""A migration of a server's settings that can be made twice, so that without its record there is an upgrade to do."""


@pytest.mark.database
def test_an_upgrade_is_backed_up_before(cli: Type, collection: Path) -> None:
    backups = collection / "backups"
    assert cli("manage", "check").code == 0
    assert not backups.exists(), "a collection of this version has nothing to upgrade"
    found = []
    for most in ("3", "1"):
        forget(collection, LATEST)
        done = cli("manage", "check", MIGRATION_BACKUPS=most)
        assert (done.code, "before it is in" in done.err) == (0, True), done.err
        found.append(sorted(backups.iterdir()))
    first, kept = found
    assert (len(first), len(kept)) == (1, 1)
    assert kept > first, "the newest stays"
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    if not os.environ.get("DATABASE_URL"):
        with closing(sqlite3.connect(kept[-1])) as copy:
            before = copy.execute("SELECT app || '.' || name FROM django_migrations WHERE app = 'admin'").fetchall()
        assert (LATEST,) not in before
        assert before
    forget(collection, LATEST)
    assert cli("manage", "check", MIGRATION_BACKUPS="0").code == 0
    assert sorted(backups.iterdir()) == kept


@pytest.mark.database
def test_a_newer_versions_collection_is_left_as_it_is(cli: Type, collection: Path) -> None:
    assert cli("status").code == 0
    change_database(collection, "DELETE FROM machine_process", add_migration("auth", "0099_of_a_newer_django"))
    assert cli("status").code == 0, "that is none of ours"
    change_database(collection, "DELETE FROM machine_process", add_migration("core", "0999_from_the_future"))
    for words in (["status"], ["add", "--bg", "http://127.0.0.1:9/"], ["run"], ["init"], ["server"]):
        refused = cli(*words)
        assert (refused.code, "newer version of ArchiveBox" in refused.err) == (2, True), refused.err
        assert "core.0999_from_the_future" in refused.err
    change_database(collection, "DELETE FROM django_migrations WHERE name = '0999_from_the_future'")
    assert [row["process_type"] for row in cli("process", "list").records] == ["cli"], "the one that lists"


@pytest.mark.database
def test_a_collection_of_a_state_before_the_first_release_is_refused_and_left_alone(
    cli: Type, collection: Path
) -> None:
    cli("add", "--bg", "https://example.com/")
    forget(collection, "replay.0001_initial")
    for words in (["list"], ["init"], ["add", "--bg", "https://example.com/quince"]):
        refused = cli(*words)
        assert (refused.code, "a development version from before ArchiveBox 0.1.0" in refused.err) == (2, True)
    change_database(collection, add_migration("replay", "0001_initial"))
    assert [row["url"] for row in cli("list").records] == ["https://example.com/"]


def add_migration(app: str, name: str) -> str:
    return f"INSERT INTO django_migrations (app, name, applied) VALUES ('{app}', '{name}', '2030-01-01')"


def forget(collection: Path, migration: str) -> None:
    """Take away the record of a migration, and of the schema that was found by the last command."""
    app, name = migration.split(".")
    change_database(collection, f"DELETE FROM django_migrations WHERE app = '{app}' AND name = '{name}'")
    for stamp in (collection / "run").glob("schema.*"):
        stamp.unlink()
