from __future__ import annotations

from pathlib import Path

import pytest
from django.db.migrations.loader import MigrationLoader

from archivebox.config.replaced_migrations import missing_migrations, replaced_migrations

CORE = sorted(name for name in replaced_migrations() if name.startswith("core."))


def test_a_database_that_had_all_or_none_lacks_nothing() -> None:
    assert not missing_migrations([])
    assert not missing_migrations(["webhooks.0001_initial"])
    assert not missing_migrations(replaced_migrations())
    assert not missing_migrations(CORE), "the other apps are newer than that database"


@pytest.mark.parametrize("count", range(1, len(CORE)))
def test_a_database_that_had_only_the_first_ones_lacks_the_last(count: int) -> None:
    assert CORE[-1] in missing_migrations(CORE[:count])


def test_what_is_replaced_is_gone_and_what_replaces_is_there() -> None:
    ours = {key: migration for key, migration in MigrationLoader(None).disk_migrations.items() if is_own(key[0])}
    assert replaced_migrations().isdisjoint({f"{app}.{name}" for app, name in ours})
    replaced = {f"{app}.{name}" for migration in ours.values() for app, name in migration.replaces}
    assert replaced == replaced_migrations()


def is_own(app: str) -> bool:
    return Path("archivebox", app).is_dir()
