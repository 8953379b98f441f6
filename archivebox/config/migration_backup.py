"""Owns the backup of the database that is made before migrations change it."""

import logging
import shutil
from datetime import UTC, datetime
from pathlib import Path

from archivebox import __version__
from archivebox.config.database import database_url
from archivebox.config.database_copy import DatabaseCopyError, copy_sqlite
from archivebox.config.early import early_settings
from archivebox.lib.quantities import size
from archivebox.storage.layout import DataFolder

log = logging.getLogger(__name__)

SETTING = "MIGRATION_BACKUPS"
_TURN_OFF = f"{SETTING}=0 in the environment upgrades without a backup."


def back_up_before_migrations(folder: DataFolder) -> None:
    """Copy the database into ``backups/`` if tables that it has are about to change, and keep the newest such copies.

    DatabaseCopyError, before anything is changed, where there is no room, or it cannot be copied. Needs Django set up.
    """
    kept = early_settings(folder).get_int(SETTING)
    if kept == 0 or not _changes_tables():
        return
    folder.backups.mkdir(mode=0o700, exist_ok=True)
    stem = f"before-{__version__}-{datetime.now(UTC):%Y-%m-%dT%H-%M-%S.%fZ}"
    url = database_url(folder)
    copy = _dump(url, folder.backups / f"{stem}.dump") if url else _copy(folder, folder.backups / f"{stem}.sqlite3")
    if copy is not None:
        log.warning("The database is upgraded; as it was before it is in %s.", copy)
        _delete_old(folder.backups, kept)


def _changes_tables() -> bool:
    """Whether there is a migration to come of an app that has had some: a new collection is nothing to go back to."""
    from django.db import connection  # what asks for its settings
    from django.db.migrations.executor import MigrationExecutor  # what `status` on a ready collection need not import

    executor = MigrationExecutor(connection)
    applied = {app for app, _ in executor.loader.applied_migrations}
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return any(migration.app_label in applied for migration, _ in plan)


def _copy(folder: DataFolder, target: Path) -> Path:
    log_of_writes = folder.database.with_name(f"{folder.database.name}-wal")
    needed = sum(path.stat().st_size for path in (folder.database, log_of_writes) if path.exists())
    free = shutil.disk_usage(folder.root).free
    if free < needed:
        raise DatabaseCopyError(
            f"This version upgrades the database, and there is not enough space for a backup of it: {size(needed)} are "
            f"needed in {folder.backups}, {size(free)} are free. Free some. {_TURN_OFF}"
        )
    part = target.with_name(f".{target.name}.part")
    try:
        copy_sqlite(folder.database, part)
    except (DatabaseCopyError, OSError) as error:
        raise DatabaseCopyError(f"{str(error).rstrip('.')}. The database was not upgraded. {_TURN_OFF}") from error
    part.chmod(0o600)
    return part.rename(target)


def _dump(url: str, target: Path) -> Path | None:
    """None where PostgreSQL's programs are not here: its backups may be made elsewhere."""
    from archivebox.config.postgres_copy import dump_postgres, has_postgres_programs  # psycopg costs 60 ms

    if not has_postgres_programs():
        log.warning("The database is upgraded without a backup: pg_dump is not there (Debian: postgresql-client).")
        return None
    part = target.with_name(f".{target.name}.part")
    try:
        dump_postgres(url, part)
    except DatabaseCopyError as error:
        raise DatabaseCopyError(
            f"This version upgrades the database, and pg_dump cannot back it up before: {error} {_TURN_OFF}"
        ) from error
    return part.rename(target)


def _delete_old(folder: Path, kept: int) -> None:
    """Also what an interrupted copy has left."""
    whole = sorted(folder.glob("before-*"), key=lambda path: path.stat().st_mtime_ns)
    for path in (*whole[:-kept], *folder.glob(".before-*.part*")):
        path.unlink(missing_ok=True)
