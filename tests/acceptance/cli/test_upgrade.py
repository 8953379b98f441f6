"""A collection of an earlier version goes on: a copy is kept before its database is changed, or it is left as it is."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type
from tests.databases import change_database

FORGET_NEW_NAMES = "DELETE FROM django_migrations WHERE name LIKE '%_squashed_%' OR name = '0019_tag_indexes'"
"""Leaves what the last version before decision 0140 has written."""


@pytest.mark.database
def test_an_upgrade_is_backed_up_before(cli: Type, collection: Path) -> None:
    backups = collection / "backups"
    assert cli("status").code == 0
    assert not backups.exists(), "a collection of this version has nothing to upgrade"
    found = []
    for most in ("3", "1"):
        age(cli, collection)
        done = cli("status", MIGRATION_BACKUPS=most)
        assert "before it is in" in done.err, done.err
        found.append(sorted(backups.iterdir()))
    first, kept = found
    assert (len(first), len(kept)) == (1, 1)
    assert kept > first, "the newest stays"
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    if not os.environ.get("DATABASE_URL"):
        with closing(sqlite3.connect(kept[-1])) as copy:
            before = copy.execute("SELECT name FROM django_migrations WHERE app = 'core'").fetchall()
        assert ("0019_tag_indexes",) not in before
        assert ("0018_unchanged_check",) in before
    age(cli, collection)
    assert cli("status", MIGRATION_BACKUPS="0").code == 0
    assert sorted(backups.iterdir()) == kept


@pytest.mark.database
def test_a_database_of_all_former_migrations_goes_on_as_it_is(cli: Type, collection: Path) -> None:
    cli("add", "--bg", "https://example.com/")
    change_database(collection, FORGET_NEW_NAMES)
    forget_stamps(collection)
    listed = cli("list")
    assert listed.record["url"] == "https://example.com/", listed.err
    assert not (collection / "backups").exists(), "nothing was changed"
    assert cli("manage", "migrate", "--check").code == 0


@pytest.mark.database
def test_a_database_of_some_former_migrations_is_refused_and_left_alone(cli: Type, collection: Path) -> None:
    cli("add", "--bg", "https://example.com/")
    later = "DELETE FROM django_migrations WHERE app = 'jobs' AND name IN ('0009_import_pages', '0010_inspect')"
    change_database(collection, FORGET_NEW_NAMES, later)
    forget_stamps(collection)
    for words in (["list"], ["init"], ["add", "--bg", "https://example.com/quince"]):
        refused = cli(*words)
        assert (refused.code, "lacks changes" in refused.err) == (2, True), refused.err
        assert "jobs.0010_inspect" in refused.err
    former = ("0009_import_pages", "0010_inspect")
    again = [
        f"INSERT INTO django_migrations (app, name, applied) VALUES ('jobs', '{name}', '2026-11-27')" for name in former
    ]
    change_database(collection, *again)
    assert [row["url"] for row in cli("list").records] == ["https://example.com/"]


def age(cli: Type, collection: Path) -> None:
    """Make it one of an earlier version."""
    done = cli("manage", "migrate", "core", "0001", MIGRATION_BACKUPS="0")
    assert done.code == 0, done.err
    forget_stamps(collection)


def forget_stamps(collection: Path) -> None:
    """Have the next command look whether its version has something to change."""
    for stamp in (collection / "run").glob("schema.*"):
        stamp.unlink()
