"""The two bells: of work that can be done, for workers that sleep; and of anything new, for people who watch.

A bell is a file of a data folder. Where machines share a PostgreSQL, its NOTIFY has the listener of each of the others
ring there (`workers/supervise/listener.py`).
"""

import os
from pathlib import Path

from django.db import connection, transaction

from archivebox.config.settings import DATA_FOLDER
from archivebox.storage.folder_identity import FolderIdentity

CHANNEL = "archivebox_work"
"""The channel of PostgreSQL on which machines tell each other of work."""


def notify_workers() -> None:
    """Wake sleeping workers of all machines, once the transaction that this is called in is committed; else at once."""
    notify_other_machines()
    transaction.on_commit(ring_doorbell)


def notify_other_machines() -> None:
    """Tell those that share the database of work, as part of the transaction that this is called in."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, sender()])


def sender() -> str:
    """Who notifies: this data folder, whose own doorbell is rung without the database."""
    return " ".join(FolderIdentity.of(DATA_FOLDER.root))


def ring_doorbell() -> None:
    """Change the doorbell file's times; its watchers are told by the kernel."""
    _ring(DATA_FOLDER.doorbell)


def ring_for_viewers() -> None:
    """Rows have changed that somebody may be looking at; there is nothing in it for workers."""
    _ring(DATA_FOLDER.viewers_bell)


def _ring(path: Path) -> None:
    try:
        os.utime(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
