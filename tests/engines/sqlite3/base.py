"""Owns how the tables of this process's tests are emptied on SQLite: but for those that are the same in all tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.backends.sqlite3 import base, operations

from tests.engines import to_empty


class SqliteOperations(operations.DatabaseOperations):
    """Django's, for fewer tables."""

    def sql_flush(self, style: Any, tables: Sequence[str], **more: Any) -> list[str]:
        return list(super().sql_flush(style, to_empty(tables), **more))


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection."""

    ops_class = SqliteOperations
