"""Owns the key that a server signs with, made by itself."""

import secrets
from contextlib import suppress

from archivebox.lib.files import atomic_write, locked
from archivebox.storage.layout import DataFolder


def secret_key(folder: DataFolder) -> str:
    """The key that sessions and addresses of archived pages are signed with, made on first use, readable by us alone.

    FileNotFoundError where there is no collection yet.
    """
    path = folder.secret_key
    with suppress(FileNotFoundError):
        return path.read_text().strip()
    with locked(folder.init_lock):
        return make_secret_key(folder)


def make_secret_key(folder: DataFolder) -> str:
    """The same, for whoever holds the lock of this folder's initialization."""
    path = folder.secret_key
    if not path.exists():
        atomic_write(path, secrets.token_urlsafe(48) + "\n", 0o600, durable=True)
    return path.read_text().strip()
