"""Owns telling who made a data folder's SQLite file: we, an older ArchiveBox, or another program."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from enum import Enum
from pathlib import Path
from urllib.parse import quote

APPLICATION_ID = 0x41424F58
"""``ABOX``: our mark, in the place that SQLite's header has for it (sqlite.org/fileformat.html, offset 68)."""

_MAGIC = b"SQLite format 3\0"
_HEADER, _MARK = 100, slice(68, 72)
_WITH_LEASES = ("core_snapshot", "crawls_crawl", "machine_binary")
"""Tables that have a ``fence`` here, and had none in any ArchiveBox before."""
_RECENT = ("api_", "crawls_", "machine_", "personas_", "seeds_", "workers_")
"""Apps that came with 0.8; those of 0.4 to 0.7 have ``core_`` alone."""
_OF_DJANGO = ("auth_", "django_", "sqlite_")


class Origin(Enum):
    """Whose database a file is."""

    NOBODYS = "there is none, or it is still empty"
    OURS = "this program's"
    BEFORE_0_8 = "ArchiveBox 0.4 to 0.7"
    BEFORE_OURS = "ArchiveBox 0.8 or 0.9"
    FOREIGN = "another program"
    DAMAGED = "no SQLite file, or one that cannot be read"

    @property
    def is_older(self) -> bool:
        return self in (Origin.BEFORE_0_8, Origin.BEFORE_OURS)


def origin_of(database: Path) -> Origin:
    """Whose ``database`` is. Neither it nor its folder changes, by not a byte; OSError if it cannot be read.

    By our mark, which is one read(2). Without any: by its tables, so that one made anew from a dump is known.
    """
    try:
        header = _header_of(database)
    except FileNotFoundError:
        return Origin.NOBODYS
    if not header:
        return Origin.NOBODYS
    if not header.startswith(_MAGIC):
        return Origin.DAMAGED
    mark = int.from_bytes(header[_MARK])
    if mark:
        return Origin.OURS if mark == APPLICATION_ID else Origin.FOREIGN
    try:
        return _judge(_tables(database))
    except sqlite3.DatabaseError:
        return Origin.DAMAGED


def _header_of(database: Path) -> bytes:
    """The first bytes of a file, by a descriptor that stays open.

    Closing one takes from this process all its locks on the file (fcntl_locking(2)), those of an open connection as
    well: others would take themselves for the last, and remove the write-ahead log under it
    (sqlite.org/howtocorrupt.html, 2.2).
    """
    status = database.stat()
    key = status.st_dev, status.st_ino
    if key not in _descriptors:
        _descriptors[key] = os.open(database, os.O_RDONLY | os.O_CLOEXEC)
    return os.pread(_descriptors[key], _HEADER, 0)


_descriptors: dict[tuple[int, int], int] = {}


def _judge(tables: dict[str, set[str]]) -> Origin:
    """By tables, each with the names of its columns."""
    if any("fence" in tables.get(name, ()) for name in _WITH_LEASES):
        return Origin.OURS
    own = [name for name in tables if not name.startswith(_OF_DJANGO)]
    if any(name.startswith(_RECENT) for name in own):
        return Origin.BEFORE_OURS
    if "core_snapshot" in own:
        return Origin.BEFORE_0_8
    return Origin.FOREIGN if own else Origin.NOBODYS


def _tables(database: Path) -> dict[str, set[str]]:
    """Without locks, journals and shared memory, all of which would be written beside it (``immutable``).

    That leaves out what is in the write-ahead log alone: where all tables are, a copy is read.
    """
    found = _read_tables(f"file:{quote(str(database))}?mode=ro&immutable=1")
    log = database.with_name(f"{database.name}-wal")
    if found or not log.exists():
        return found
    with tempfile.TemporaryDirectory(prefix="archivebox-") as folder:
        copy = Path(folder, database.name)
        shutil.copyfile(database, copy)
        shutil.copyfile(log, copy.with_name(log.name))
        return _read_tables(f"file:{quote(str(copy))}")


def _read_tables(uri: str) -> dict[str, set[str]]:
    query = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    tables: dict[str, set[str]] = {}
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        for table, column in connection.execute(query):
            tables.setdefault(table, set()).add(column)
    return tables
