"""Django's settings for what needs no pages, derived from the data folder and the environment."""

import os
from pathlib import Path

from archivebox.config.database import connection_settings
from archivebox.storage.layout import DataFolder

DATA_FOLDER = DataFolder(Path(os.environ.get("DATA_DIR") or "data").resolve())


def _read_secret_key() -> str:
    """The key that signs log-ins; made by ``archivebox server``, and without effect in other processes."""
    path = DATA_FOLDER.secret_key
    return path.read_text().strip() if path.exists() else "not-used-before-the-server-has-made-one"


DATABASES = {"default": connection_settings(DATA_FOLDER)}
SECRET_KEY = os.environ.get("SECRET_KEY") or _read_secret_key()
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LOGGING_CONFIG = None

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "archivebox.machine",
    "archivebox.webhooks",
    "archivebox.crawls",
    "archivebox.core",
    "archivebox.replay",
    "archivebox.search",
    "archivebox.imports",
    "archivebox.jobs",
    "archivebox.accounts",
]
