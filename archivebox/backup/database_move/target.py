"""Owns the database that rows are moved to: its tables, and its notes of how far the move is."""

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from archivebox.backup.database_move.rows import Model, Row, all_models, delete_rows, key_of, write_rows
from archivebox.config.collection import MOVE_NOTES
from archivebox.config.database import postgres_settings, sqlite_settings
from archivebox.config.new_tables import TablesNotMadeError, make_tables
from archivebox.machine.host import Machine
from archivebox.storage.layout import DataFolder

TARGET = "move_target"
"""Django's name of the connection to it."""
SQLITE = "sqlite"
_REFERENCES = """
    SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
"""

_READ = f"SELECT value FROM {MOVE_NOTES} WHERE name = %s"  # noqa: S608 - a constant, as below
_FORGET = f"DELETE FROM {MOVE_NOTES} WHERE name = %s"  # noqa: S608
_NOTE = f"INSERT INTO {MOVE_NOTES} VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"  # noqa: S608


class MoveError(Exception):
    """The move cannot begin or end; the message says why and what to do."""


class MoveTarget:
    """``url``: of a PostgreSQL, or ``sqlite``: the file of the data folder, which is made beside its place."""

    def __init__(self, url: str, folder: DataFolder) -> None:
        self.is_sqlite = url == SQLITE
        self._url, self._folder = "" if self.is_sqlite else url, folder
        self._aside = DataFolder(folder.root / "database-move")
        settings = sqlite_settings(self._aside) if self.is_sqlite else postgres_settings(url)
        known = connections.configure_settings({DEFAULT_DB_ALIAS: {}, TARGET: settings})
        connections.databases[TARGET] = known[TARGET]

    @property
    def connection(self) -> BaseDatabaseWrapper:
        return connections[TARGET]

    def begin(self, source: str) -> None:
        """Make its tables, without rows; or find those of a move from this source that was interrupted. MoveError."""
        if not self.is_sqlite:
            self._claim_database()
        elif self._folder.database.exists():
            raise MoveError(f"{self._folder.database} is there already: move it to another folder first.")
        try:
            self._make_tables()
        except TablesNotMadeError as error:
            raise MoveError(f"The tables cannot be made: {error}") from None
        if self.is_sqlite:
            self._make_notes()
            self.connection.disable_constraint_checking()
        with transaction.atomic(using=TARGET):
            self._prepare(source)

    def reached(self, model: Model) -> object:
        """The key of the last row that is there; None: there is none."""
        noted = self._read(f"key {model._meta.db_table}")
        return None if noted is None else model._meta.pk.to_python(json.loads(noted))

    def add(self, model: Model, rows: list[Row]) -> None:
        """Write a batch, and note how far that is, in one transaction."""
        with transaction.atomic(using=TARGET):
            write_rows(model, self.connection, rows)
            key = key_of(model, rows[-1])
            self._note(f"key {model._meta.db_table}", json.dumps(key if isinstance(key, int) else str(key)))

    def forget(self, model: Model) -> None:
        """Delete the rows of a table, to begin it again."""
        with transaction.atomic(using=TARGET), self.connection.cursor() as cursor:
            delete_rows(model, self.connection)
            cursor.execute(_FORGET, [f"key {model._meta.db_table}"])

    def finish(self) -> None:
        """Check all references, have new rows numbered beyond the moved ones, and take the notes away.

        Machines are listed again when they work with that database: some may never, or under another id.
        """
        with transaction.atomic(using=TARGET), self.connection.cursor() as cursor:
            if self.is_sqlite:
                self.connection.check_constraints()
            else:
                self._restore_constraints(cursor)
            for statement in self.connection.ops.sequence_reset_sql(no_style(), all_models()):
                cursor.execute(statement)
            Machine.objects.using(TARGET).kept().update(removed_at=timezone.now())
            cursor.execute(f"DROP TABLE {MOVE_NOTES}")
        self.connection.close()
        if self.is_sqlite:
            self._put_in_place()

    def _claim_database(self) -> None:
        """Write notes before there is anything else: what is there from now on is this move's."""
        try:
            tables = self.connection.introspection.table_names()
        except OperationalError as error:
            raise MoveError(f"The database of --to does not answer: {str(error).strip()}") from None
        if tables and MOVE_NOTES not in tables:
            raise MoveError("The database of --to is not empty. Choose an empty one.")
        self._make_notes()

    def _make_tables(self) -> None:
        if self.is_sqlite:
            self._aside.root.mkdir(mode=0o700, exist_ok=True)
            make_tables(self._aside, "")
            return
        with tempfile.TemporaryDirectory() as folder:
            make_tables(DataFolder(Path(folder)), self._url)

    def _make_notes(self) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {MOVE_NOTES} (name text PRIMARY KEY, value text NOT NULL)")

    def _prepare(self, source: str) -> None:
        """Take away what migrations wrote, and references, which no order of tables keeps while they are filled."""
        noted = self._read("source")
        if noted is not None:
            if noted != source:
                raise MoveError(f"A move from {noted} to there was begun: finish it, or choose an empty database.")
            return
        if not self.is_sqlite:
            self._drop_constraints()
        for model in all_models():
            delete_rows(model, self.connection)
        self._note("source", source)

    def _drop_constraints(self) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(_REFERENCES)
            dropped = cursor.fetchall()
            for table, name, _ in dropped:
                cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        self._note("references", json.dumps(dropped))

    def _restore_constraints(self, cursor: CursorWrapper) -> None:
        for table, name, definition in json.loads(self._read("references") or "[]"):
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")

    def _put_in_place(self) -> None:
        with closing(sqlite3.connect(self._aside.database)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._aside.database.rename(self._folder.database)
        shutil.rmtree(self._aside.root)

    def _read(self, name: str) -> str | None:
        with self.connection.cursor() as cursor:
            cursor.execute(_READ, [name])
            row = cursor.fetchone()
        return None if row is None else str(row[0])

    def _note(self, name: str, value: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(_NOTE, [name, value])
