"""What tells whether a collection has the tables of this version."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.db.migrations.loader import MigrationLoader

from archivebox.config.collection import CollectionError, refuse_to_serve_damaged, schema_of
from archivebox.storage.layout import DataFolder


def test_the_stamp_of_a_schema_names_every_migration_of_ours(tmp_path: Path) -> None:
    named = set(schema_of(DataFolder(tmp_path)).split())
    ours = [name for name in MigrationLoader(None).disk_migrations if Path("archivebox", name[0]).is_dir()]
    assert {f"{app}.{name}" for app, name in ours} <= named
    assert "webhooks.0001_initial" in named


def test_a_damaged_database_that_was_never_served_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    folder = DataFolder(tmp_path)
    with closing(sqlite3.connect(folder.database)) as database, database:
        database.execute("CREATE TABLE page (url)")
        database.executemany("INSERT INTO page VALUES (?)", [(f"https://a.example/{n}",) for n in range(1_000)])
    refuse_to_serve_damaged(folder)
    whole = folder.database.read_bytes()
    folder.database.write_bytes(whole[:8192] + b"\xff" * 4096 + whole[12288:])
    with pytest.raises(CollectionError, match="is damaged"):
        refuse_to_serve_damaged(folder)
    folder.run.mkdir()
    (folder.run / "schema.archivebox.web.settings").write_text(schema_of(folder))
    refuse_to_serve_damaged(folder)
