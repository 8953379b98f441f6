"""Owns the database of a data folder of a test's own: a file in it, or one of the cluster that DATABASE_URL names."""

from __future__ import annotations

import os
import uuid
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg


@cache
def database_of(folder: Path) -> dict[str, str]:  # noqa: ARG001 - what is remembered by
    """The environment that leads commands on this data folder to a database no other test has; SQLite needs none."""
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        return {}
    name = f"own_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return {"DATABASE_URL": urlunsplit(urlsplit(url)._replace(path=f"/{name}"))}


def forget_database_of(folder: Path) -> None:
    """Take away all tables, as one who deletes the file, or drops the database and makes it anew, does."""
    if own := database_of(folder).get("DATABASE_URL"):
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    for path in folder.glob("data/index.sqlite3*"):
        path.unlink()


def drop_database_of(folder: Path) -> None:
    """Once nothing works on the folder any more; those that are kept go with their cluster."""
    if own := database_of(folder).get("DATABASE_URL"):
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{urlsplit(own).path.lstrip("/")}" WITH (FORCE)'.encode())
