"""Owns the data folder of tests that work on rows in this very process: fixtures for the conftests that want them."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.contenttypes.management import create_contenttypes
from django.db import connection
from django.db.models.signals import post_migrate
from pytest_django import DjangoDbBlocker

from archivebox import hooks
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib import processes
from archivebox.machine import host, process_current
from archivebox.storage.layout import DataFolder
from archivebox.web.middleware import FleetSettings
from tests import status_triggers


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:  # noqa: ARG001 - comes first
    """Pytest-django's database for all tests, in the journal mode of collections, with the triggers of statuses.

    Settings of other machines are not read, which would be queries at some requests of a test and not at others.
    """
    FleetSettings.refresh_at = math.inf
    if connection.vendor == "sqlite":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode=WAL")
    with django_db_blocker.unblock():
        status_triggers.install()
    post_migrate.disconnect(create_contenttypes)  # tests/engines leaves what these two have made
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")


@pytest.fixture
def collection(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[DataFolder]:  # noqa: ARG001
    """The data folder as a new collection has it, and no process of it left afterwards."""
    monkeypatch.setenv("DATA_DIR", str(DATA_FOLDER.root))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("ARCHIVEBOX_PROCESS_ID", raising=False)
    monkeypatch.delenv("PRIVATE_NETWORK_ALLOWLIST", raising=False)  # rules are tested here, not captures
    _empty()
    yield DATA_FOLDER
    for identity, mark in processes.marked(DATA_FOLDER.root).items():
        if identity.pid != os.getpid():
            processes.Tree(root=identity, process_id=mark, data_dir=DATA_FOLDER.root).end_blocking(grace=0)
    for child in processes.unreaped().values():
        if child.peek() is not None:
            child.reap()
    _empty()


def _empty() -> None:
    if DATA_FOLDER.plugins.is_dir() and any(DATA_FOLDER.plugins.iterdir()):
        hooks.forget_plugins()
    for path in DATA_FOLDER.root.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.name.startswith(DATA_FOLDER.database.name):
            path.unlink()
    DATA_FOLDER.create()
    hooks.registry._base_layers.cache_clear()
    host.forget_current_machine()
    process_current.forget_current_process()


def somebody_waits() -> bool:
    """Whether another connection waits for a row of this one; on SQLite it waits before its first statement."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])
