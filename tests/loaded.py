"""Owns what the fork server of tests has in memory: Django, the models and the commands, of no collection yet.

Importing them takes ten times the CPU time of most commands. A process that was forked chooses its collection (`use`).
The process of the tests itself must not import this: it sets Django up.
"""

import gc
import os
import pkgutil
from importlib import import_module
from pathlib import Path

_given = dict(os.environ)
os.environ.pop("DATABASE_URL", None)
os.environ.update(DATA_DIR="/nonexistent", DJANGO_SETTINGS_MODULE="archivebox.config.settings")

import django  # noqa: E402 - its settings read the environment

django.setup()

from django.conf import settings  # noqa: E402 - they can be read only now
from django.db import connections  # noqa: E402

from archivebox import cli  # noqa: E402
from archivebox.config.database import connection_settings  # noqa: E402
from archivebox.config.settings import DATA_FOLDER, _read_secret_key  # noqa: E402

WITH_PAGES = frozenset({"manage", "mcp", "server"})
"""Packages of commands that need the settings and tables of pages."""

for _module in pkgutil.walk_packages(cli.__path__, "archivebox.cli."):
    if _module.name.split(".")[2] not in WITH_PAGES:
        import_module(_module.name)
for _name in ("workers.supervise.watch", "workers.supervise.supervisord_util", "jobs.begin"):
    import_module(f"archivebox.{_name}")
import_module("django.db.backends.postgresql.base")

os.environ.clear()
os.environ.update(_given)
for _alias in connections:
    del connections[_alias]  # modules have asked it which database it is for
gc.collect()
gc.freeze()  # a later collection would write to all memory that is shared with the fork server


def use(folder: Path) -> None:
    """Make this process one of the collection in ``folder``: do again what importing the settings does.

    ConfError, SettingError.
    """
    object.__setattr__(DATA_FOLDER, "root", folder.resolve())
    chosen = {"default": connection_settings(DATA_FOLDER)}
    connections.settings.update(connections.configure_settings(chosen))
    settings.SECRET_KEY = os.environ.get("SECRET_KEY") or _read_secret_key()
