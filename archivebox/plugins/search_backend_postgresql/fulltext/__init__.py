"""The search index in PostgreSQL: a table of its own, which several machines share."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict

from archivebox.plugins.base.searching import Hit, UnavailableError

from .lexemes import parts_of, phrase, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from archivebox.plugins.base.texts import Text

FORMER = "search.sqlite3"  # in the data folder: SQLite's index, of a collection whose texts may be missing here
RANKED = 2_000  # newest texts of a query that are ordered by rank: to rank one, PostgreSQL reads all of its words
PATIENCE = "10"  # seconds for a server to accept a connection
_LOCK = 0x7365617263685F74  # of PostgreSQL's advisory locks: held by who makes the table
_COMPLETE = "complete"  # comment of the table, once everything was indexed anew
_OPTIONS = "-c jit=off -c enable_seqscan=off"  # to read all texts is never the quicker way
_SCHEMA = f"""
    SELECT pg_advisory_xact_lock({_LOCK});
    CREATE TABLE IF NOT EXISTS search_text (
        snapshot uuid NOT NULL, plugin text NOT NULL, file text NOT NULL, part integer NOT NULL,
        is_long boolean NOT NULL, words tsvector NOT NULL, PRIMARY KEY (snapshot, plugin, file, part)
    );
    CREATE INDEX IF NOT EXISTS search_text_short ON search_text USING gin (words) WHERE NOT is_long;
    CREATE INDEX IF NOT EXISTS search_text_long ON search_text USING gin (words) WHERE is_long;
"""
_FORGET = "DELETE FROM search_text WHERE snapshot = %s"
_ADD = """
    INSERT INTO search_text VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (snapshot, plugin, file, part) DO UPDATE SET is_long = excluded.is_long, words = excluded.words
"""
_SHORT = "SELECT snapshot, plugin, file FROM search_text WHERE NOT is_long AND words @@ %s::tsquery"
_LONG = "SELECT DISTINCT snapshot, plugin, file FROM search_text WHERE is_long AND words @@ %s::tsquery"
_FIND = """
    SELECT snapshot::text, plugin, file FROM (
        SELECT *, row_number() OVER (ORDER BY snapshot DESC) AS place FROM ({short} UNION ALL ({long})) AS texts
    ) AS found
    ORDER BY (
        SELECT max(ts_rank(words, %s::tsquery, 1)) FROM search_text AS text
        WHERE text.snapshot = found.snapshot AND text.plugin = found.plugin AND text.file = found.file AND place <= %s
    ) DESC NULLS LAST, place LIMIT %s
"""


class PostgresIndex:
    """The table `search_text` of the collection's database: which words each text has, and where in it."""

    def __init__(self) -> None:
        self._folder = Path(os.environ.get("DATA_DIR", os.curdir))
        self._open: psycopg.Connection | None = None

    def index(self, snapshot: str, _folder: Path, texts: Iterable[Text]) -> int:
        """Replace the texts of a Snapshot. They are read and parted before the database has to wait for us."""
        parted = [(text.plugin, text.file, list(parts_of(words_of(text.content)))) for text in texts]
        rows = [
            (snapshot, plugin, file, number, len(parts) > 1, part)
            for plugin, file, parts in parted
            for number, part in enumerate(parts)
        ]
        with self._table() as database, database.cursor() as cursor:
            cursor.execute(_FORGET, (snapshot,))
            cursor.executemany(_ADD, rows)
        return len(parted)

    def remove(self, snapshot: str, _folder: Path) -> None:
        with self._table() as database:
            database.execute(_FORGET, (snapshot,))

    def flush(self) -> None:
        with self._connection() as database, database.transaction():
            database.execute("DROP TABLE IF EXISTS search_text")
            database.execute(_SCHEMA)
            database.execute(f"COMMENT ON TABLE search_text IS '{_COMPLETE}'")

    def query(self, words: list[str], limit: int) -> list[Hit]:
        phrases = [found for word in words if (found := phrase(word))]
        if not phrases:
            return []
        with self._table() as database:
            self._require_all(database)
            find = _FIND.format(short=_SHORT, long=" INTERSECT ".join([_LONG] * len(phrases)))
            values = (" & ".join(phrases), *phrases, " | ".join(phrases), RANKED, limit)
            return [Hit(*row) for row in database.execute(find, values)]

    def _require_all(self, database: psycopg.Connection) -> None:
        """UnavailableError where the texts of this collection were in SQLite's index, and were not brought here."""
        if (self._folder / FORMER).exists():
            (comment,) = database.execute("SELECT obj_description('search_text'::regclass)").fetchone() or (None,)
            if comment != _COMPLETE:
                raise UnavailableError("PostgreSQL's index lacks the pages of before: archivebox manage reindex")

    @contextmanager
    def _table(self) -> Iterator[psycopg.Connection]:
        """Yield a transaction, in which the table is there."""
        with self._connection() as database, database.transaction():
            if database.execute("SELECT to_regclass('search_text')").fetchone() == (None,):
                database.execute(_SCHEMA)
            yield database

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection]:
        try:
            self._open = self._open or _connect()
            yield self._open
        except psycopg.OperationalError as error:
            raise UnavailableError(f"PostgreSQL does not answer ({_line(error)}): check DATABASE_URL") from None
        except psycopg.Error as error:
            raise UnavailableError(
                f"The search index in PostgreSQL cannot be used ({_line(error)}): archivebox manage reindex"
            ) from None


def _connect() -> psycopg.Connection:
    url = os.environ.get("SEARCH_BACKEND_POSTGRESQL_URL", "")
    if not url:
        raise UnavailableError("The engine postgresql needs a PostgreSQL: set DATABASE_URL to one")
    named = conninfo_to_dict(url)
    options = f"{named.get('options') or ''} {_OPTIONS}"
    patience = named.get("connect_timeout") or PATIENCE
    return psycopg.connect(url, autocommit=True, options=options, connect_timeout=patience)


def _line(error: psycopg.Error) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
