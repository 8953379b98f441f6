"""Settings, secrets and public keys that all machines share, as rows: each machine has a copy in its data folder."""

from collections.abc import Collection, Mapping

from django.db import connection, models

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.config.database import database_url
from archivebox.config.fleet_copy import write_fleet_copy
from archivebox.config.settings import DATA_FOLDER
from archivebox.config.shared_secrets import decrypt, encrypt, may_encrypt, share_public_keys
from archivebox.machine.machine_id import is_fleet


class FleetSetting(models.Model):
    """One setting, as text; secrets are encrypted where there is a key that is not in the database."""

    name = models.CharField(max_length=255, primary_key=True)
    content = models.TextField(blank=True)
    is_encrypted = models.BooleanField(default=False, help_text="with the SECRET_KEY of the environment")

    def __str__(self) -> str:
        return self.name


class SharedSecret(models.Model):
    """One secret or public key: written once, copied by each machine into its data folder when it joins.

    `config/shared_secrets.py` uses these rows before Django is set up, as the key of the web pages is one of them.
    """

    name = models.CharField(max_length=64, primary_key=True)
    content = models.TextField()
    is_encrypted = models.BooleanField(help_text="with the SECRET_KEY of the environment")

    def __str__(self) -> str:
        return self.name


def fleet_settings() -> dict[str, str]:
    """Name → text. SharedSecretError where one was encrypted with another key."""
    rows = FleetSetting.objects.values_list("name", "content", "is_encrypted")
    return {name: decrypt(f"setting {name}", content) if sealed else content for name, content, sealed in rows}


def change_fleet_settings(changes: Mapping[str, str | None], secrets: Collection[str]) -> None:
    """Set or, with None, unset settings that were checked. ``secrets``: which to encrypt.

    Other machines know of it once it is committed, and this one once its copy is refreshed.
    """
    with write_transaction():
        FleetSetting.objects.filter(name__in=[name for name, value in changes.items() if value is None]).delete()
        for name, value in changes.items():
            if value is not None:
                sealed = name in secrets and may_encrypt()
                content = {"content": encrypt(value) if sealed else value, "is_encrypted": sealed}
                FleetSetting.objects.update_or_create(name=name, defaults=content)
        notify_workers()


def refresh_fleet_settings() -> None:
    """Bring the copy of this machine up to date. SharedSecretError as above, and then it stays as it was."""
    if is_fleet():
        write_fleet_copy(DATA_FOLDER, database_url(DATA_FOLDER), fleet_settings())


def refresh_public_keys() -> None:
    """Take over the public keys that other machines have, and give them those of this one."""
    if is_fleet():
        with connection.cursor() as cursor:
            share_public_keys(DATA_FOLDER, cursor)
