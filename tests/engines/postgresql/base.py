"""Owns how the tables of this process's tests are emptied on PostgreSQL: row by row, as there are few.

TRUNCATE, which Django uses, makes the files of 60 tables and their indexes anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.backends.postgresql import base, operations

from tests.engines import to_empty


class PostgresqlOperations(operations.DatabaseOperations):
    """Django's, with DELETE in place of TRUNCATE: references are checked at the end of the transaction."""

    def sql_flush(self, style: Any, tables: Sequence[str], **more: Any) -> list[str]:
        del style, more
        return [f"DELETE FROM {self.quote_name(table)}" for table in to_empty(tables)]


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection."""

    ops_class = PostgresqlOperations
