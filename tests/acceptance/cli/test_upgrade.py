"""Before a version changes the database, it keeps a copy to go back to."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.cli.conftest import Type


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
            (newest,) = copy.execute("SELECT max(name) FROM django_migrations WHERE app = 'core'").fetchone()
        assert newest.startswith("0016")
    age(cli, collection)
    assert cli("status", MIGRATION_BACKUPS="0").code == 0
    assert sorted(backups.iterdir()) == kept


def age(cli: Type, collection: Path) -> None:
    """Make it one of an earlier version."""
    done = cli("manage", "migrate", "core", "0016", MIGRATION_BACKUPS="0")
    assert done.code == 0, done.err
    for stamp in (collection / "run").glob("schema.*"):
        stamp.unlink()
