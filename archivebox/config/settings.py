"""Django's settings for what needs no pages, derived from the data folder and the environment."""

import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from archivebox.storage.layout import DataFolder

DATA_FOLDER = DataFolder(Path(os.environ.get("DATA_DIR") or "data").resolve())


def _read_secret_key() -> str:
    """The key that signs log-ins; made by ``archivebox server``, and without effect in other processes."""
    path = DATA_FOLDER.secret_key
    return path.read_text().strip() if path.exists() else "not-used-before-the-server-has-made-one"


def _database(url: str) -> dict[str, object]:
    """Django's connection settings of ``DATABASE_URL`` (``postgres://user:password@host:port/name?option=value``)."""
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA_FOLDER.database,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 30,
                # FULL: an accepted URL survives a power cut. WAL itself is switched on under init.lock.
                "init_command": "PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16000;"
                "PRAGMA mmap_size=268435456; PRAGMA journal_size_limit=67108864;",
            },
        }
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        message = f"DATABASE_URL must begin with postgres:// (or be empty for SQLite), not {parts.scheme}://"
        raise ValueError(message)
    options = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or unquote(parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": parts.port or "",
        # jit costs 3 to 20 times the query on the recursive ones.
        "OPTIONS": {"options": "-c jit=off", **options},
    }


DATABASES = {"default": _database(os.environ.get("DATABASE_URL", ""))}
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
    "archivebox.crawls",
    "archivebox.core",
]
