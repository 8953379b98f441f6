"""The search index: one SQLite file, written by several processes at a time."""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from archivebox.plugins.base import Settings
from archivebox.plugins.base.searching import Hit, UnavailableError, answer, segmented

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from archivebox.plugins.base.searching import Text

FILE = "search.sqlite3"
LOCK = "search.lock"  # held by who makes the file; SQLite does not wait for a change to WAL
PATIENCE = 50.0  # seconds for the others' writes, a few milliseconds each; below the time of a hook
_SCHEMA = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE text (
        id INTEGER PRIMARY KEY, snapshot TEXT NOT NULL, plugin TEXT NOT NULL, file TEXT NOT NULL,
        UNIQUE (snapshot, plugin, file)
    );
    CREATE VIRTUAL TABLE words USING fts5 (content, tokenize = "unicode61 remove_diacritics 2");
"""
RANKED = 1_000  # newest texts of a query that are ordered by rank, 3 µs each: of 100,000 it takes a quarter of a second
_STEPS = 10_000  # of SQLite's machine, a millisecond or less, after which it is asked whether the time is over
_EDGE = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
_BEST = """
    SELECT snapshot, plugin, file FROM words JOIN text ON text.id = words.rowid
    WHERE words MATCH ? AND words.rowid >= ? ORDER BY rank LIMIT ?
"""
_NEWEST = """
    SELECT snapshot, plugin, file FROM words JOIN text ON text.id = words.rowid
    WHERE words MATCH ? AND words.rowid < ? ORDER BY words.rowid DESC LIMIT ?
"""


class Index:
    """`search.sqlite3` in the data folder: which words each text has."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._folder = Path(environ.get("DATA_DIR", os.curdir))
        self._time = Settings(environ, os.path.dirname(__file__)).timeout("SEARCH_BACKEND_SQLITE")
        self._deadline = time.monotonic() + self._time
        self._open: sqlite3.Connection | None = None

    def index(self, snapshot: str, _folder: Path, texts: Iterable[Text]) -> int:
        """Replace the texts of a Snapshot. They are read and parted before others have to wait for us."""
        parted = [(text.plugin, text.file, segmented(text.content)) for text in texts]
        with self._transaction() as database:
            _forget(database, snapshot)
            for plugin, file, content in parted:
                row = database.execute("INSERT INTO text VALUES (NULL, ?, ?, ?)", (snapshot, plugin, file))
                database.execute("INSERT INTO words (rowid, content) VALUES (?, ?)", (row.lastrowid, content))
        return len(parted)

    def remove(self, snapshot: str, _folder: Path) -> None:
        with self._transaction() as database:
            _forget(database, snapshot)

    def flush(self) -> None:
        """Remove the files: what cannot be read any more can be made anew, too."""
        self.close()
        with self._locked():
            for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
                (self._folder / name).unlink(missing_ok=True)

    def query(self, words: list[str], limit: int) -> list[Hit]:
        phrases = [found for word in words if (found := _phrase(word))]
        if not phrases:
            return []
        match = " AND ".join(phrases)
        with self._connection() as database:
            database.set_progress_handler(lambda: time.monotonic() > self._deadline, _STEPS)
            edge, *_ = database.execute(_EDGE, (match, min(RANKED, limit) - 1)).fetchone() or (0,)
            rows = database.execute(_BEST, (match, edge, limit)).fetchall()
            rows += database.execute(_NEWEST, (match, edge, limit - len(rows)))
        return [Hit(*row) for row in rows]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as database:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open it once: who closes it last has to bring all of its log into it, and to wait for the disk."""
        path = self._folder / FILE
        try:
            self._open = self._open or self._opened(path)
            yield self._open
        except sqlite3.DatabaseError as error:
            if str(error) == "interrupted":
                raise UnavailableError(
                    f"The search took longer than {self._time:g} seconds: raise SEARCH_BACKEND_SQLITE_TIMEOUT"
                ) from None
            raise UnavailableError(
                f"The search index {path} cannot be used ({error}): archivebox manage reindex"
            ) from None

    def _opened(self, path: Path) -> sqlite3.Connection:
        if not os.access(self._folder, os.W_OK):  # a disk that is only read: nothing can be made beside the file
            mode = "mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"
            return sqlite3.connect(f"file:{quote(str(path))}?{mode}", isolation_level=None, uri=True)
        if not path.exists():
            self._create(path)
        database = _connect(path)
        database.execute("PRAGMA synchronous = NORMAL")  # in WAL a power cut costs the last pages, never the file
        return database

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = None

    def _create(self, path: Path) -> None:
        """Make the file beside its place and put it there whole: nobody ever sees half of it."""
        with self._locked():
            if path.exists():
                return
            fresh = path.with_name(f".{FILE}.tmp")
            fresh.unlink(missing_ok=True)
            with closing(_connect(fresh)) as database:
                database.executescript(_SCHEMA)
            fresh.replace(path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        run = self._folder / "run"
        run.mkdir(mode=0o700, exist_ok=True)
        with (run / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)


def _forget(database: sqlite3.Connection, snapshot: str) -> None:
    database.execute("DELETE FROM words WHERE rowid IN (SELECT id FROM text WHERE snapshot = ?)", (snapshot,))
    database.execute("DELETE FROM text WHERE snapshot = ?", (snapshot,))


def _phrase(word: str) -> str:
    """Return a word of a question as FTS5 wants it (SQLite FTS5, 3.2 and 3.3); '' where nothing of it is a word."""
    inside = re.sub(r"[^\w ]", " ", segmented(word)).strip()
    return f'"{inside}"{"*" if word.endswith("*") else ""}' if inside else ""


ENGINE = Index

if __name__ == "__main__":
    answer(Index())
