"""Owns which database a collection has: the one that DATABASE_URL names, else a SQLite file in the data folder."""

import os
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from archivebox.config.conffile import ConfError
from archivebox.config.early import early_settings
from archivebox.storage.layout import DataFolder


def database_url(folder: DataFolder) -> str:
    """Where the database is, by environment or ArchiveBox.conf; empty for SQLite. ConfError, SettingError."""
    return early_settings(folder).get_text("DATABASE_URL")


def connection_settings(folder: DataFolder) -> dict[str, object]:
    """Django's settings for that database (``postgres://user:password@host:port/name?option=value``).

    ConfError for an address of another kind.
    """
    url = database_url(folder)
    return postgres_settings(url) if url else sqlite_settings(folder)


def is_read_only(folder: DataFolder) -> bool:
    """Whether a data folder can be read and not written, as on a disk that is mounted so."""
    return os.access(folder.root, os.R_OK) and not os.access(folder.root, os.W_OK)


def _mode(folder: DataFolder) -> str:
    """How SQLite opens the file. It makes none: the disk may be away for a moment, and others make it on purpose.

    On a disk that can only be read, a file whose log was brought into it needs no shared memory (``immutable``).
    """
    if not is_read_only(folder):
        return "mode=rw"
    return "mode=ro" if folder.database.with_name(f"{folder.database.name}-wal").exists() else "immutable=1"


def sqlite_settings(folder: DataFolder) -> dict[str, object]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": f"file:{quote(str(folder.database))}?{_mode(folder)}",
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            # FULL: an accepted URL survives a power cut. WAL itself is switched on under init.lock.
            # The cache holds what a transaction changes; pages that are only read come from the map of the file.
            "init_command": "PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8000;"
            "PRAGMA mmap_size=268435456; PRAGMA journal_size_limit=67108864;",
        },
    }


def postgres_settings(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ConfError(f"DATABASE_URL must begin with postgres:// (or be empty for SQLite), not {parts.scheme}://")
    options = dict(parse_qsl(parts.query))
    name = unquote(parts.path.lstrip("/"))
    if not (name or "service" in options) or _port(parts) is None:
        raise ConfError("DATABASE_URL must name a database, as in postgres://user:password@host:5432/name")
    host = options.pop("host", None) or unquote(parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": _port(parts),
        # jit costs 3 to 20 times the query on the recursive ones.
        "OPTIONS": {"options": "-c jit=off", **options},
    }


def encoding_problem(encoding: str | None) -> str:
    """Why a database of PostgreSQL in this encoding cannot be used, and what to do; empty where it can."""
    if encoding == "UTF8":
        return ""
    return (
        f"The database of DATABASE_URL is encoded in {encoding}, which cannot store the text of all pages. Create it "
        "again: CREATE DATABASE name TEMPLATE template0 ENCODING 'UTF8'"
    )


def _port(parts: SplitResult) -> int | str | None:
    """Empty where none is named, None for what is no port."""
    try:
        return parts.port or ""
    except ValueError:
        return None
