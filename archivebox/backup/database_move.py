"""Move the rows of a collection to another database, table by table, and compare them there.

:func:`move_database` is the move. :class:`MoveTarget` is the database that rows are moved to, with notes of how far the
move is. The functions behind are the rows of a table, as any of the databases has them.
"""

import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from archivebox.base_models.work import lease_clock
from archivebox.config.collection import MOVE_NOTES
from archivebox.config.database import postgres_settings, sqlite_settings
from archivebox.config.new_tables import TablesNotMadeError, make_tables
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.batches import batches
from archivebox.lib.files import locked
from archivebox.machine.host import ALIVE, Machine
from archivebox.machine.process import Process
from archivebox.storage.layout import DataFolder

WORKING = (Process.TypeChoices.ORCHESTRATOR, Process.TypeChoices.WORKER)
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
BATCH = 1_000
"""Rows of one transaction."""
_MODULUS = 1 << 256

Row = tuple[Any, ...]
Model = type[models.Model]


class MoveError(Exception):
    """The move cannot begin or end; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class TableDigest:
    """How many rows a table has, and the sum of their SHA-256, which does not depend on their order."""

    rows: int
    digest: str


@dataclass(slots=True)
class MoveProgress:
    """What was done so far: rows written by this call, and the tables that were compared, by name."""

    table: str = ""
    written: int = 0
    compared: dict[str, TableDigest] = field(default_factory=dict)


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


def move_database(url: str, folder: DataFolder) -> Iterator[MoveProgress]:
    """Copy this collection's rows to the database of ``url``, or to ``sqlite``; the own one stays as it is.

    Interrupted, the same call goes on where it was. MoveError where it cannot begin, or what is there then differs.
    """
    if connection.vendor == SQLITE == url:
        raise MoveError("The database of this collection is SQLite already.")
    with locked(folder.orchestrator_lock, blocking=False) as lock:
        if lock is None:
            raise MoveError("Something works on this collection: end its `server`, `run` or `add` first.")
        _refuse_other_machines()
        target = MoveTarget(url, folder)
        target.begin(_source())
        progress = MoveProgress()
        for model in all_models():
            yield from _copy(model, target, progress)
        for model in all_models():
            yield from _compare(model, target, progress)
        target.finish()


def _refuse_other_machines() -> None:
    heard = Machine.objects.exclude(pk=Machine.current().pk).filter(seen_at__gt=lease_clock() - ALIVE)
    running = Process.objects.running().filter(process_type__in=WORKING, machine__in=heard)
    names = ", ".join(sorted(set(running.values_list("machine__hostname", flat=True))))
    if names:
        raise MoveError(f"Other machines work on this collection ({names}): end ArchiveBox there first.")


def _source() -> str:
    """The database that rows come from, as people know it."""
    known = connection.settings_dict
    return f"{known['NAME']}@{known['HOST']}" if connection.vendor == "postgresql" else str(DATA_FOLDER.database)


def _copy(model: Model, target: MoveTarget, progress: MoveProgress) -> Iterator[MoveProgress]:
    progress.table = model._meta.db_table
    for batch in batches(read_rows(model, DEFAULT_DB_ALIAS, target.reached(model)), BATCH):
        target.add(model, batch)
        progress.written += len(batch)
        yield progress


def _compare(model: Model, target: MoveTarget, progress: MoveProgress) -> Iterator[MoveProgress]:
    """Begin a table again that has changed since its rows were read, as between two calls."""
    expected = table_digest(model, DEFAULT_DB_ALIAS)
    if table_digest(model, TARGET) != expected:
        target.forget(model)
        yield from _copy(model, target, progress)
        if table_digest(model, TARGET) != expected:
            raise MoveError(f"The rows of {model._meta.db_table} differ: repeat the command while nothing else runs.")
    progress.compared[model._meta.db_table] = expected
    yield progress


def all_models() -> list[Model]:
    """Those that have a table, with those between two models."""
    known = apps.get_models(include_auto_created=True)
    return [model for model in known if model._meta.managed and not model._meta.proxy]


def read_rows(model: Model, database: str, after: object = None) -> Iterator[Row]:
    """The rows beyond a key, in the order of keys that this database has."""
    rows: models.QuerySet[Any] = models.QuerySet(model, using=database).order_by("pk")
    if after is not None:
        rows = rows.filter(pk__gt=after)
    return rows.values_list(*(field.attname for field in _fields(model))).iterator(chunk_size=BATCH)


def key_of(model: Model, row: Row) -> object:
    """The primary key in a row of :func:`read_rows`."""
    return row[_fields(model).index(model._meta.pk)]


def write_rows(model: Model, connection: BaseDatabaseWrapper, rows: Iterable[Row]) -> None:
    """Insert rows as they were read: without what a model does when it is saved, such as to note the time."""
    fields, quote = _fields(model), connection.ops.quote_name
    columns, marks = ", ".join(quote(str(field.column)) for field in fields), ", ".join(["%s"] * len(fields))
    table = quote(model._meta.db_table)
    sql = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - names of our own tables
    values = [
        tuple(field.get_db_prep_save(value, connection) for field, value in zip(fields, row, strict=True))
        for row in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(sql, values)


def delete_rows(model: Model, connection: BaseDatabaseWrapper) -> None:
    """Empty its table, whatever refers to it."""
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - a name of our own tables


def table_digest(model: Model, database: str) -> TableDigest:
    """Reads all rows."""
    count = total = 0
    for count, row in enumerate(read_rows(model, database), 1):  # noqa: B007 - used after the loop
        text = json.dumps(row, sort_keys=True, default=_plain)
        total += int.from_bytes(hashlib.sha256(text.encode()).digest())
    return TableDigest(count, f"{total % _MODULUS:064x}")


def _fields(model: Model) -> list["models.Field[Any, Any]"]:
    return [field for field in model._meta.local_concrete_fields if not field.generated]


def _plain(value: object) -> str:
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)
