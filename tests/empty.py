"""Owns the empty collection that others begin with: migrated once a run, because that takes 1 s of CPU.

Its database rejects every change of a status that no table allows, as that of tests in this process does.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from archivebox.lib.files import locked
from archivebox.storage.layout import DataFolder
from tests.databases import copy_database, database_of

CHECKOUT = Path(__file__).parents[1]
EMPTY = "ARCHIVEBOX_TESTS_EMPTY"
"""Names a folder in which the parts of the suite share the one on SQLite; without, each test process has its own."""
MAKE = """
import django
django.setup()
from archivebox.config.collection import open_collection
open_collection(create=True)
from tests import status_triggers
status_triggers.install()
"""
PAGES, COMMANDS = "archivebox.web.settings", "archivebox.config.settings"
"""Each has a stamp of its own; pages have all tables of commands, and more."""


def make_empty(folder: Path) -> None:
    """Have an empty collection in ``folder``, with a database of its own."""
    first = _migrated(os.environ.get("DATABASE_URL", ""))
    shutil.copytree(first, folder, dirs_exist_ok=True)
    copy_database(first, folder)
    for stamp in (folder / "run").glob("schema.*"):
        stamp.write_text(stamp.read_text().replace(_signature(first), _signature(folder)))


@cache
def _migrated(server: str) -> Path:
    """The one that is copied; one for each database server, of which a test may have its own."""
    if shared := "" if server else os.environ.get(EMPTY, ""):
        with locked(Path(shared)):
            folder = Path(shared) / "data"
            if not folder.exists():
                _migrate(folder, server)
        return folder
    folder = Path(tempfile.mkdtemp(prefix="archivebox-empty-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _migrate(folder, server)
    return folder


def _migrate(folder: Path, server: str) -> None:
    env = {**os.environ, "DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": PAGES}
    if server:  # its keys are in the database, where SECRET_KEY would encrypt them: no copy could read them
        DataFolder(folder).create()
    else:
        env["SECRET_KEY"] = "of no server"
    subprocess.run([sys.executable, "-c", MAKE], cwd=CHECKOUT, env=env | database_of(folder), check=True)
    shutil.copy(folder / "run" / f"schema.{PAGES}", folder / "run" / f"schema.{COMMANDS}")


def _signature(folder: Path) -> str:
    """By which the stamp of a collection names the database that was migrated."""
    return hashlib.sha256(database_of(folder).get("DATABASE_URL", "").encode()).hexdigest()
