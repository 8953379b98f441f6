"""Owns copying a SQLite database that others write to, and finding out whether one is damaged."""

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

BUSY = 30.0
"""Seconds that a copy waits for the lock of another process: the change to WAL alone takes one."""


QUICK_CHECK_LIMIT = 2_000_000_000
"""Bytes of a database up to which it is read through: some seconds."""


class DatabaseCopyError(Exception):
    """A copy that cannot be made, or put back; the message says why, and what to do."""


def copy_sqlite(source: Path, target: Path) -> None:
    """Copy a SQLite file as it is at one moment; who writes to it meanwhile does not wait, and is not waited for.

    The copy needs no write-ahead log, and was checked. ``target`` must not be there.
    DatabaseCopyError; OSError where the disk is full.
    """
    try:
        with closing(sqlite3.connect(source, timeout=BUSY)) as live, closing(sqlite3.connect(target)) as copy:
            live.backup(copy)  # in one step: one that is made in several begins again after each write of others
            copy.execute("PRAGMA journal_mode=DELETE")
            verdict = str(copy.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        target.unlink(missing_ok=True)
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from error
        raise DatabaseCopyError(f"{source} cannot be copied: {error}. `archivebox doctor` says more.") from error
    if verdict != "ok":
        target.unlink()
        raise DatabaseCopyError(f"{source} is damaged and was not copied: {verdict}. `archivebox doctor` says more.")


def sqlite_damage(database: Path) -> str:
    """What is wrong with a SQLite file; empty where nothing was found. Of a large one only its beginning is read."""
    check = "quick_check(1)" if database.stat().st_size < QUICK_CHECK_LIMIT else "schema_version"
    try:
        with closing(sqlite3.connect(database, timeout=BUSY)) as live:
            live.execute("SELECT count(*) FROM sqlite_master").fetchone()
            verdict = str(live.execute(f"PRAGMA {check}").fetchone()[0])
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if verdict == "ok" or check != "quick_check(1)" else verdict.splitlines()[-1]
