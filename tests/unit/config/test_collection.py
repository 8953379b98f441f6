"""What tells whether a collection has the tables of this version."""

from pathlib import Path

from django.db.migrations.loader import MigrationLoader

from archivebox.config.collection import schema_of
from archivebox.storage.layout import DataFolder


def test_the_stamp_of_a_schema_names_every_migration_of_ours(tmp_path: Path) -> None:
    named = set(schema_of(DataFolder(tmp_path)).split())
    ours = [name for name in MigrationLoader(None).disk_migrations if Path("archivebox", name[0]).is_dir()]
    assert {f"{app}.{name}" for app, name in ours} <= named
    assert "webhooks.0001_initial" in named
