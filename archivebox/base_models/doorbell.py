"""The doorbell: how whoever commits work that can be done wakes the workers that sleep."""

import os

from django.db import transaction

from archivebox.config.settings import DATA_FOLDER


def notify_workers() -> None:
    """Wake sleeping workers once the transaction that this is called in has been committed; at once outside of one."""
    transaction.on_commit(ring_doorbell)


def ring_doorbell() -> None:
    """Change the doorbell file's times; its watchers are told by the kernel."""
    path = DATA_FOLDER.doorbell
    try:
        os.utime(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
