"""The copy of an earlier ArchiveBox's database that an import reads."""

import gc
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.readers.old_collection import OldDatabase


def copies() -> list[Path]:
    gc.collect()
    return list(DATA_FOLDER.imports.rglob("index.sqlite3"))


def test_a_copy_is_read_with_its_write_ahead_log_and_is_gone_with_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    with closing(sqlite3.connect(path)) as source:
        source.execute("PRAGMA journal_mode = WAL")
        source.execute("CREATE TABLE core_snapshot (id TEXT, timestamp TEXT, url TEXT)")
        source.commit()
        source.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        source.execute("INSERT INTO core_snapshot VALUES ('1', '1700000000.5', 'https://a.example/')")
        source.commit()
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        database = OldDatabase(path)
        assert database.timestamps() == {"1700000000.5"}
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert len(copies()) == 1  # where a killed process leaves it, the next one clears it away
    del database
    assert copies() == []


def test_a_damaged_database_leaves_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(sqlite3.DatabaseError):
        OldDatabase(path)
    assert copies() == []


HOSTILE = "timestamp TEXT, url TEXT AS (hex(zeroblob(400000000)))"


def test_columns_that_are_computed_are_never_computed(tmp_path: Path) -> None:
    """One row of them took 9.3 GB of memory; 0.9 has some, of which nothing is read."""
    path = tmp_path / "index.sqlite3"
    with closing(sqlite3.connect(path)) as source:
        source.execute(f"CREATE TABLE core_snapshot (id TEXT, {HOSTILE})")
        source.execute("INSERT INTO core_snapshot (id, timestamp) VALUES ('1', '1700000000.5')")
        source.commit()
    with pytest.raises(sqlite3.DatabaseError, match="no table of pages"):
        OldDatabase(path)
