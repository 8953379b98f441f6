"""Wakes sleeping workers when there is work to do, and the web server when rows that people look at have changed.

Both wait for changes of a file in the data folder: a wake-up file. Where machines share a PostgreSQL database, NOTIFY
has the listener of each other machine touch its own (`workers/supervise/listener.py`).
"""

from contextlib import suppress
from pathlib import Path

from django.db import connection, transaction

from archivebox.config.settings import DATA_FOLDER
from archivebox.storage.folder_identity import FolderIdentity

CHANNEL = "archivebox_work"
"""The channel of PostgreSQL on which machines tell each other of work."""


def notify_workers() -> None:
    """Wake sleeping workers of all machines, once the transaction that this is called in is committed; else at once."""
    notify_other_machines()
    transaction.on_commit(wake_local_workers)


def notify_other_machines() -> None:
    """Tell those that share the database of work, as part of the transaction that this is called in."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, sender_id()])


def sender_id() -> str:
    """Return the name of this data folder in the payload of NOTIFY; its own file is touched without the database."""
    return " ".join(FolderIdentity.of(DATA_FOLDER.root))


def wake_local_workers() -> None:
    """Touch the workers' wake-up file: all workers of this data folder that sleep look for work."""
    _touch(DATA_FOLDER.wakeup_file)


def wake_viewers() -> None:
    """Touch the wake-up file of the web server: rows have changed that an open page may show. Workers sleep on."""
    _touch(DATA_FOLDER.viewers_wakeup_file)


def _touch(path: Path) -> None:
    with suppress(FileNotFoundError):  # the collection is gone, as where its disk is away: nobody is to be woken there
        path.touch()
