"""Owns which files of a backup are one file under several names: bodies that pages have in common."""

import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

from archivebox.storage.shared_bodies import may_be_linked


class LinkedFile(NamedTuple):
    """The first name under which a file was written, and the SHA-256 of what was written."""

    path: str
    sha256: str


class LinkedFiles:
    """The first names, by inode; in a temporary database, because there may be millions of them."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE file (device, inode, path, sha256, PRIMARY KEY (device, inode))")
        self._database.execute("BEGIN")

    def find(self, path: str, status: os.stat_result) -> LinkedFile | None:
        """What was written for an earlier name of the file that has this status now."""
        if status.st_nlink == 1 or not may_be_linked(path):
            return None
        where = "device = ? AND inode = ?"
        row = self._database.execute(f"SELECT path, sha256 FROM file WHERE {where}", _key(status)).fetchone()  # noqa: S608
        return LinkedFile(*row) if row else None

    def remember(self, path: str, status: os.stat_result, sha256: str) -> None:
        if status.st_nlink > 1 and may_be_linked(path):
            row = (*_key(status), path, sha256)
            self._database.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        self._database.close()


def link_file(source: Path, target: Path) -> bool:
    """Give a file that was written a second name; False where the disk has no hard links, or no more of them."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        return False
    return True


def _key(status: os.stat_result) -> tuple[str, str]:
    """As text: an inode may have 64 bits, and SQLite's numbers have a sign."""
    return str(status.st_dev), str(status.st_ino)
