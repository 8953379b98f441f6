"""Owns the database of a data folder of a test's own: a file in it, or one of the cluster that DATABASE_URL names."""

from __future__ import annotations

import os
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

FILE_COPY_SINCE = 150_000
"""The version of PostgreSQL in which CREATE DATABASE can be told how."""
_names: dict[Path, str] = {}
"""Of the databases that were made, by data folder."""


def database_of(folder: Path) -> dict[str, str]:
    """The environment that leads commands on this data folder to a database no other test has; SQLite needs none."""
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        return {}
    if folder not in _names:
        _create(folder)
    return {"DATABASE_URL": urlunsplit(urlsplit(url)._replace(path=f"/{_names[folder]}"))}


def copy_database(of: Path, to: Path) -> None:
    """Make the database of a data folder a copy of another's, which nobody uses; of SQLite the folder has it."""
    if database_of(of):
        _create(to, _names[of])


def own_database(server: str, template: str = "", *, encoding: str = "") -> str:
    """The URL of a new database on the server that a URL names, empty or a copy of the one named ``template``.

    ``encoding``: another one than that of the server's databases.
    """
    name = f"own_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        how = f' TEMPLATE "{template}"' if template else ""
        if encoding:
            how = f" TEMPLATE template0 ENCODING '{encoding}'"
        if connection.info.server_version >= FILE_COPY_SINCE:  # takes half of the CPU time of making and dropping it
            how += " STRATEGY FILE_COPY"
        connection.execute(f'CREATE DATABASE "{name}"{how}'.encode())
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


def _create(folder: Path, template: str = "") -> None:
    _names[folder] = urlsplit(own_database(os.environ["DATABASE_URL"], template)).path.lstrip("/")


def search_engine() -> str:
    """The engine that searches texts unless a test chooses another one."""
    return "postgresql" if os.environ.get("DATABASE_URL") else "sqlite"


def break_search_index(folder: Path) -> None:
    """Leave something that the engine of :func:`search_engine` cannot read."""
    if own := database_of(folder).get("DATABASE_URL"):
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute("ALTER TABLE search_text RENAME COLUMN words TO sentences")
    else:
        (folder / "search.sqlite3").write_bytes(b"SQLite format 3\0" + b"broken" * 1_000)


def change_database(folder: Path, *statements: str) -> None:
    """Execute them past the program."""
    if own := database_of(folder).get("DATABASE_URL"):
        with psycopg.connect(own, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())
        return
    with closing(sqlite3.connect(folder / "index.sqlite3", timeout=30)) as database, database:
        for statement in statements:
            database.execute(statement)


def forget_database_of(folder: Path) -> None:
    """Take away all tables, as one who deletes the file, or drops the database and makes it anew, does."""
    if own := database_of(folder).get("DATABASE_URL"):
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    for path in folder.glob("index.sqlite3*"):
        path.unlink()


def drop_database_of(folder: Path) -> None:
    """Once nothing works on the folder any more; those that are kept go with their cluster."""
    if own := database_of(folder).get("DATABASE_URL"):
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{urlsplit(own).path.lstrip("/")}" WITH (FORCE)'.encode())
