"""Owns bringing the public keys of all machines that share a database to each of them."""

from django.db import connection

from archivebox.config.settings import DATA_FOLDER
from archivebox.config.shared_secrets import share_public_keys
from archivebox.machine.machine_id import is_fleet


def refresh_public_keys() -> None:
    """Take over those that other machines have, and give them those of this one."""
    if is_fleet():
        with connection.cursor() as cursor:
            share_public_keys(DATA_FOLDER, cursor)
