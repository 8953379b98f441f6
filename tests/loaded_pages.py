"""Owns what the fork server of web servers has in memory: the settings of pages, all views and templates.

A web server that is started takes 1.3 s of CPU until it answers; one that is forked takes 0.1.
"""

import os
from importlib import import_module, reload
from pathlib import Path

_given = dict(os.environ)
os.environ.pop("DATABASE_URL", None)
os.environ.update(DATA_DIR="/nonexistent", SECRET_KEY="of no server", DJANGO_SETTINGS_MODULE="archivebox.web.settings")

import django  # noqa: E402 - its settings read the environment

django.setup()

from archivebox.web import settings as of_pages  # noqa: E402 - they can be read only now

import_module("archivebox.web.server.listeners")
os.environ.clear()
os.environ.update(_given)

from django.conf import settings  # noqa: E402 - as above

from tests import loaded  # noqa: E402 - it keeps what is in memory when it is imported


def use(folder: Path) -> None:
    """Make this process one that serves the collection in ``folder``.

    Views, middleware and the application itself read settings when they are imported: the fork server has to have
    been started with the same ones.
    """
    loaded.use(folder)
    reload(of_pages)
    for name in filter(str.isupper, dir(of_pages)):
        if name != "DATABASES":
            setattr(settings, name, getattr(of_pages, name))
