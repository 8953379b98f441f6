"""A collection on a PostgreSQL server that fails over: a copy takes its place, without the last seconds."""

from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.string import TextLoader

from tests.acceptance.archive.conftest import Home
from tests.suite.postgres import Cluster

AS_TEXT = ("uuid", "json", "jsonb")
"""Types that SQLite keeps as text."""


class PostgresHome(Home):
    """A person's folder whose rows are on a server."""

    def __init__(self, folder: Path, server: Cluster) -> None:
        super().__init__(folder)
        self.server = server
        self.env["DATABASE_URL"] = server.url

    def rows(self, statement: str) -> list[dict[str, Any]]:
        with psycopg.connect(self.server.url, row_factory=dict_row) as database:
            for kind in AS_TEXT:
                database.adapters.register_loader(kind, TextLoader)
            return list(database.execute(statement.encode()))
