"""Writes many rows of one model without an object for each: 0.03 ms a row instead of 0.12."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, models
from django.utils import timezone

from archivebox.base_models.prepared import way_of

Columns = Mapping[str, Any]
"""Values by attribute name (``snapshot_id``, not ``snapshot``)."""
Prepare = Callable[[Any], Any]
PLAIN = (str, int, float, type(None))
"""Types that drivers take as they are; Django's own way costs 8 µs a value, of which a hook has sixty."""


class Table:
    """The statements of one model, and how each of its columns is handed to the database."""

    def __init__(self, model: type[models.Model]) -> None:
        meta, quote = model._meta, connection.ops.quote_name
        fields = {column.attname: column for column in meta.concrete_fields}
        self._prepare = {name: _preparer(column) for name, column in fields.items()}
        self._places = {name: (place, prepare) for place, (name, prepare) in enumerate(self._prepare.items())}
        self._defaults = [column.get_db_prep_save(column.get_default(), connection) for column in fields.values()]
        self._quoted = {name: quote(str(column.column)) for name, column in fields.items()}
        self.name, self.key = quote(meta.db_table), quote(str(meta.pk.column))
        names, marks = ", ".join(self._quoted.values()), ", ".join(["%s"] * len(fields))
        self.insert_statement = f"INSERT INTO {self.name} ({names}) VALUES ({marks})"  # noqa: S608 - our own names
        self._updates: dict[tuple[str, ...], str] = {}
        self._changes: dict[tuple[tuple[str, ...], tuple[tuple[str, bool], ...]], str] = {}

    def prepared(self, name: str, value: object) -> Any:
        """A value as the driver takes it for this column; also what a cursor of ours reads back."""
        return self._prepare[name](value)

    def insert(self, rows: Iterable[tuple[UUID, Columns]], *, ignore_conflicts: bool = False) -> None:
        """New rows by key; columns left out get their default. ``ignore_conflicts``: a row that is there stays."""
        defaults = self._fresh_defaults()
        values = [self._insert_values(key, columns, defaults) for key, columns in rows]
        with connection.cursor() as cursor:
            cursor.executemany(self.insert_statement + (" ON CONFLICT DO NOTHING" if ignore_conflicts else ""), values)

    def values(self, key: UUID, columns: Columns) -> list[Any]:
        """The values that ``insert_statement`` takes for one new row."""
        return self._insert_values(key, columns, self._fresh_defaults())

    def _fresh_defaults(self) -> list[Any]:
        return self._set(self._defaults.copy(), {"modified_at": timezone.now()})

    def _insert_values(self, key: UUID, columns: Columns, defaults: list[Any]) -> list[Any]:
        values = self._set(defaults.copy(), columns)
        place, prepare = self._places["id"]
        values[place] = prepare(key)
        return values

    def _set(self, values: list[Any], columns: Columns) -> list[Any]:
        places = self._places
        for name, value in columns.items():
            place, prepare = places[name]
            values[place] = None if value is None else prepare(value)
        return values

    def update(self, names: tuple[str, ...], rows: Iterable[tuple[UUID, Columns]]) -> None:
        """The columns ``names``, and ``modified_at``, of rows that are there."""
        now = self.prepared("modified_at", timezone.now())
        names = tuple(name for name in names if name != "modified_at")
        prepare = [(name, self._prepare[name]) for name in names]
        key_of = self._prepare["id"]
        values = [[*(way(columns[name]) for name, way in prepare), now, key_of(key)] for key, columns in rows]
        with connection.cursor() as cursor:
            cursor.executemany(self._update_statement(names), values)

    def change(self, columns: Columns, where: Columns) -> bool:
        """Set ``columns`` of the row that is as ``where`` says, None meaning NULL; False when there is no such row."""
        names, known = tuple(columns), tuple((name, value is None) for name, value in where.items())
        if (names, known) not in self._changes:
            sets = ", ".join(f"{self._quoted[name]} = %s" for name in names)
            tests = " AND ".join(f"{self._quoted[name]} {'IS NULL' if null else '= %s'}" for name, null in known)
            self._changes[names, known] = f"UPDATE {self.name} SET {sets} WHERE {tests}"  # noqa: S608 - our own names
        values = [self._prepare[name](value) for name, value in columns.items()]
        values += [self._prepare[name](value) for name, value in where.items() if value is not None]
        with connection.cursor() as cursor:
            cursor.execute(self._changes[names, known], values)
            return bool(cursor.rowcount)

    def _update_statement(self, names: tuple[str, ...]) -> str:
        if names not in self._updates:
            sets = ", ".join(f"{self._quoted[name]} = %s" for name in (*names, "modified_at"))
            self._updates[names] = f"UPDATE {self.name} SET {sets} WHERE {self.key} = %s"  # noqa: S608 - our own names
        return self._updates[names]

    def known_values(self, name: str, values: Iterable[object], where: Columns) -> set[Any]:
        """Those of ``values`` that a row which is as ``where`` says has in the column ``name``; None is no value."""
        wanted = [self._prepare[name](value) for value in values]
        if not wanted:
            return set()
        tests = [f"{self._quoted[one]} = %s" for one in where]
        tests.append(f"{self._quoted[name]} IN ({', '.join(['%s'] * len(wanted))})")
        statement = f"SELECT {self._quoted[name]} FROM {self.name} WHERE {' AND '.join(tests)}"  # noqa: S608 - our own names
        with connection.cursor() as cursor:
            cursor.execute(statement, [*(self._prepare[one](value) for one, value in where.items()), *wanted])
            return {row[0] for row in cursor.fetchall()}

    def select_for_update(self, names: Sequence[str], keys: Sequence[UUID]) -> dict[Any, tuple[Any, ...]]:
        """Columns of the rows ``keys`` by key, all as :meth:`prepared` gives them; keeps others from them."""
        wanted = ", ".join(self._quoted[name] for name in ("id", *names))
        marks = ", ".join(["%s"] * len(keys))
        statement = f"SELECT {wanted} FROM {self.name} WHERE {self.key} IN ({marks}) ORDER BY {self.key}"  # noqa: S608
        if connection.features.has_select_for_update:
            statement += " FOR NO KEY UPDATE"
        with connection.cursor() as cursor:
            cursor.execute(statement, [self.prepared("id", key) for key in keys])
            return {row[0]: tuple(row[1:]) for row in cursor.fetchall()}


def _preparer(column: "models.Field[Any, Any]") -> Prepare:
    """How values of a column are handed over; what is not of the expected type goes Django's own way."""

    def slowly(value: Any) -> Any:
        return None if value is None else column.get_db_prep_save(value, connection)

    stored = column.target_field if isinstance(column, models.ForeignKey) else column
    if isinstance(stored, models.JSONField):
        encoder, as_json = stored.encoder, connection.ops.adapt_json_value
        return lambda value: as_json(value, encoder) if isinstance(value, (dict, list)) else slowly(value)
    if isinstance(stored, models.UUIDField):
        as_key = way_of(UUID)
        return lambda value: as_key(value) if isinstance(value, UUID) else slowly(value)
    if isinstance(stored, models.DateTimeField):
        as_moment = way_of(datetime)
        return lambda value: as_moment(value) if isinstance(value, datetime) and value.tzinfo else slowly(value)
    return lambda value: value if isinstance(value, PLAIN) else slowly(value)


_tables: dict[type[models.Model], Table] = {}


def table_of(model: type[models.Model]) -> Table:
    if model not in _tables:
        _tables[model] = Table(model)
    return _tables[model]
