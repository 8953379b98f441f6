"""Which data folder is meant, and making it ready for use: folders, write-ahead log, migrations."""

import hashlib
import os
import sqlite3
from pathlib import Path

from archivebox.lib.files import atomic_write, locked
from archivebox.storage.layout import DataFolder

MIGRATED_APPS = ("machine", "crawls", "core", "web")


class NotACollectionError(Exception):
    """There is no collection in this folder."""


def choose_data_dir(option: str | None = None) -> Path:
    """``--data-dir``, else ``DATA_DIR``, else the current folder if it is a collection, else ``./data``.

    Sets ``DATA_DIR``; call it before anything of Django is imported.
    """
    here = Path.cwd()
    chosen = option or os.environ.get("DATA_DIR") or (here if DataFolder(here).run.is_dir() else here / "data")
    folder = Path(chosen).expanduser().resolve()
    os.environ["DATA_DIR"] = str(folder)
    return folder


def open_collection(*, create: bool) -> None:
    """Make the collection of ``DATA_DIR`` ready; cheap when nothing is to be done. Needs Django set up.

    Raises NotACollectionError when there is none and ``create`` is not set.
    """
    folder = DataFolder(Path(os.environ["DATA_DIR"]))
    stamp = _schema()
    if _is_ready(folder, stamp):
        return
    if not create and not folder.run.is_dir():
        raise NotACollectionError(
            f"There is no collection in {folder.root}. `archivebox init` makes one there; "
            "--data-dir or DATA_DIR names another folder."
        )
    folder.create()
    # The switch to WAL and migrations are not covered by SQLite's busy timeout: 12 of 320 first uses were "locked".
    with locked(folder.init_lock):
        if not _is_ready(folder, stamp):
            _migrate(folder)
            atomic_write(_stamp_file(folder), stamp)


def _stamp_file(folder: DataFolder) -> Path:
    """One for commands and one for pages, which have more tables."""
    return folder.run / f"schema.{os.environ.get('DJANGO_SETTINGS_MODULE', 'none')}"


def _is_ready(folder: DataFolder, stamp: str) -> bool:
    try:
        return _stamp_file(folder).read_text() == stamp
    except FileNotFoundError:
        return False


def _migrate(folder: DataFolder) -> None:
    from django.core.management import call_command  # what `status` on a ready collection need not import

    if not os.environ.get("DATABASE_URL"):
        with sqlite3.connect(folder.database, timeout=30) as database:
            database.execute("PRAGMA auto_vacuum=INCREMENTAL")
            database.execute("PRAGMA journal_mode=WAL")
        database.close()
    call_command("migrate", verbosity=0, interactive=False)


def _schema() -> str:
    """Names every migration that this version has, and the database they are meant for."""
    package = Path(__file__).parent.parent
    names = sorted(
        f"{app}.{path.stem}" for app in MIGRATED_APPS for path in package.glob(f"{app}/migrations/[0-9]*.py")
    )
    names.append(hashlib.sha256(os.environ.get("DATABASE_URL", "").encode()).hexdigest())
    return "\n".join(names) + "\n"
