"""Whose a database is: by our mark, else by its tables, without a byte written beside it."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from archivebox.config.origin import APPLICATION_ID, Origin, origin_of
from tests import older


@pytest.mark.parametrize(
    ("kind", "origin"),
    [
        ("0.7", Origin.BEFORE_0_8),
        ("0.9", Origin.BEFORE_OURS),
        ("0.9 after a crash", Origin.BEFORE_OURS),
        ("another program", Origin.FOREIGN),
    ],
)
def test_what_others_made_is_told_by_its_tables_and_stays_as_it_is(tmp_path: Path, kind: str, origin: Origin) -> None:
    folder = older.make(tmp_path / "old", kind)
    before = older.digest(folder)
    assert origin_of(folder / "index.sqlite3") is origin
    assert older.digest(folder) == before


@pytest.mark.parametrize("table", ["core_snapshot", "crawls_crawl", "machine_binary"])
def test_ours_without_a_mark_are_told_by_their_leases(tmp_path: Path, table: str) -> None:
    path = tmp_path / "index.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE {table} (id integer, fence integer)")
    assert origin_of(path) is Origin.OURS


def test_a_mark_counts_more_than_tables(tmp_path: Path) -> None:
    path = older.make(tmp_path / "old", "0.9") / "index.sqlite3"
    for mark, origin in ((APPLICATION_ID, Origin.OURS), (7, Origin.FOREIGN)):
        with closing(sqlite3.connect(path)) as database:
            database.execute(f"PRAGMA application_id={mark}")
        assert origin_of(path) is origin


def test_nothing_and_the_first_moments_are_nobodys(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    assert origin_of(path) is Origin.NOBODYS
    path.touch()
    assert origin_of(path) is Origin.NOBODYS
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE django_migrations (id integer)")
    assert origin_of(path) is Origin.NOBODYS


def test_what_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    path = older.make(tmp_path / "old", "0.7") / "index.sqlite3"
    whole = path.read_bytes()
    for content in (b"this was a database", whole[:100] + b"\xff" * 4000, whole[:100]):
        path.write_bytes(content)
        assert origin_of(path) is Origin.DAMAGED


READ = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM core_snapshot").fetchall()
connection.close()
"""


def test_asking_takes_no_lock_from_an_open_connection(tmp_path: Path) -> None:
    """Else another process takes itself for the last, and removes the log from under it: what follows is lost."""
    database = tmp_path / "index.sqlite3"
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE core_snapshot (fence)")
        assert origin_of(database) is Origin.OURS
        subprocess.run([sys.executable, "-c", READ, database], check=True)
        assert database.with_name(f"{database.name}-wal").exists()
