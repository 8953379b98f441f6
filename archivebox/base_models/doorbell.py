"""The two bells: of work that can be done, for workers that sleep; and of anything new, for people who watch."""

import os
from pathlib import Path

from django.db import transaction

from archivebox.config.settings import DATA_FOLDER


def notify_workers() -> None:
    """Wake sleeping workers once the transaction that this is called in has been committed; at once outside of one."""
    transaction.on_commit(ring_doorbell)


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
