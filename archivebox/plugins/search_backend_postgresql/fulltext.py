"""The search index in PostgreSQL: a table of its own, which several machines share."""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict

from archivebox.plugins.base import Settings
from archivebox.plugins.base.searching import Hit, UnavailableError, answer, segmented

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from archivebox.plugins.base.searching import Text

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

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._folder = Path(environ.get("DATA_DIR", os.curdir))
        self._url = environ.get("SEARCH_BACKEND_POSTGRESQL_URL", "")
        self._time = Settings(environ, os.path.dirname(__file__)).timeout("SEARCH_BACKEND_POSTGRESQL")
        self._deadline = time.monotonic() + self._time
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

    def close(self) -> None:
        if self._open is not None:
            self._open.close()

    def query(self, words: list[str], limit: int) -> list[Hit]:
        phrases = [found for word in words if (found := phrase(word))]
        if not phrases:
            return []
        with self._table() as database:
            self._require_all(database)
            find = _FIND.format(short=_SHORT, long=" INTERSECT ".join([_LONG] * len(phrases)))
            values = (" & ".join(phrases), *phrases, " | ".join(phrases), min(RANKED, 2 * limit), limit)
            left = max(1, int(1000 * (self._deadline - time.monotonic())))
            database.execute(f"SET LOCAL statement_timeout = {left}")
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
            self._open = self._open or _connect(self._url)
            yield self._open
        except psycopg.errors.QueryCanceled:
            raise UnavailableError(
                f"The search took longer than {self._time:g} seconds: raise SEARCH_BACKEND_POSTGRESQL_TIMEOUT"
            ) from None
        except psycopg.OperationalError as error:
            raise UnavailableError(f"PostgreSQL does not answer ({_line(error)}): check DATABASE_URL") from None
        except psycopg.Error as error:
            raise UnavailableError(
                f"The search index in PostgreSQL cannot be used ({_line(error)}): archivebox manage reindex"
            ) from None


def _connect(url: str) -> psycopg.Connection:
    if not url:
        raise UnavailableError("The engine postgresql needs a PostgreSQL: set DATABASE_URL to one")
    named = conninfo_to_dict(url)
    options = f"{named.get('options') or ''} {_OPTIONS}"
    patience = named.get("connect_timeout") or PATIENCE
    return psycopg.connect(url, autocommit=True, options=options, connect_timeout=patience)


def _line(error: psycopg.Error) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


# --- which words a text has: those that FTS5's `unicode61 remove_diacritics 2` finds in it ---------------------------

PART = 4_000  # words of one row: so few that hardly a word comes 256 times, of which PostgreSQL keeps no more
OVERLAP = 64  # words of a row that the next one begins with: a phrase so long is found wherever it stands
LONGEST = 240  # bytes of a word that count: 4,000 of them stay below the megabyte of a tsvector
_WORDS = re.compile(r"[^\W_]+")
_LATIN = range(0xC0, 0x1F00)
_MARKS = range(0x300, 0x332)


def _bases() -> dict[int, str | None]:
    """Letter with a mark → the plain letter. Only Latin letters lose their marks, as in FTS5."""
    bases: dict[int, str | None] = dict.fromkeys(_MARKS)
    for code in _LATIN:
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base.isascii():
            bases[code] = base
    return bases


_BASES = _bases()


def words_of(text: str) -> list[str]:
    """Return the words of a text in order: lower case, without marks."""
    if not text.isascii():
        text = segmented(text).translate(_BASES)
    return [word if len(word) < LONGEST // 4 else _cut(word) for word in _WORDS.findall(text.lower())]


def parts_of(words: Sequence[str]) -> Iterator[str]:
    """Yield the words as texts that PostgreSQL reads as tsvectors: one, or of a long text several."""
    for start in range(0, max(1, len(words) - OVERLAP), PART - OVERLAP):
        yield _tsvector(words[start : start + PART])


def phrase(word: str) -> str:
    """Return a word or phrase of a question as a tsquery; '' where nothing of it is a word."""
    found = " <-> ".join(f"'{one}'" for one in words_of(word))
    return f"({found}{':*' if word.endswith('*') else ''})" if found else ""


def _tsvector(words: Sequence[str]) -> str:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for place, word in enumerate(words, 1):
        places[word].append(str(place))
    return " ".join(f"'{word}':{','.join(at)}" for word, at in places.items())


def _cut(word: str) -> str:
    return word.encode()[:LONGEST].decode("utf-8", "ignore")


ENGINE = PostgresIndex

if __name__ == "__main__":
    answer(PostgresIndex())
