"""Owns reading the database of an earlier ArchiveBox: from a copy, whatever its version."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from archivebox.imports.readers.old.moments import closest_moment, moment
from archivebox.imports.readers.old.record import OldPage, OldResult, split_tags

Row = Mapping[str, object]
_VERSIONS = (
    ("machine_process", "0.9"),
    ("core_archiveresult.plugin", "0.9"),
    ("machine_machine", "0.8"),
    ("core_snapshot.bookmarked_at", "0.8"),
    ("core_archiveresult", "0.6 or 0.7"),
    ("core_tag", "0.5"),
    ("core_snapshot", "0.4"),
)
"""A table, or a column, that came with a version; the newest first."""


class OldDatabase:
    """A copy of the database, so that no lock, journal or shared memory is written in the source.

    sqlite3.DatabaseError where it is damaged, OSError where it cannot be copied.
    """

    def __init__(self, path: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="archivebox-import-")
        copy = Path(self._folder.name, "index.sqlite3")
        for suffix in ("", "-wal", "-journal"):
            source = path.with_name(path.name + suffix)
            if source.is_file() and not source.is_symlink():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        self._connection = sqlite3.connect(copy, check_same_thread=False)
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        tables = self._connection.execute(
            "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'"
        )
        self._columns: dict[str, set[str]] = {}
        for table, column in tables:
            self._columns.setdefault(str(table), set()).add(str(column))
        self._connection.row_factory = sqlite3.Row
        if not self._has("core_snapshot", "timestamp"):
            raise sqlite3.DatabaseError("It has no table of pages.")

    @property
    def version(self) -> str:
        """By its tables; empty where there are no pages."""
        return next((version for mark, version in _VERSIONS if self._has(*mark.split("."))), "")

    @cached_property
    def identity(self) -> str:
        """When its first table was made, to the microsecond: that stays, wherever the folder is moved."""
        if not self._has("django_migrations", "applied"):
            return ""
        rows = self._rows("SELECT applied FROM django_migrations WHERE applied IS NOT NULL ORDER BY id LIMIT 1")
        return "".join(f"ArchiveBox collection of {row['applied']}" for row in rows)

    def timestamps(self) -> set[str]:
        """Those of all pages."""
        return {str(row["timestamp"]) for row in self._rows("SELECT timestamp FROM core_snapshot")}

    def pages(self, after: str = "") -> Iterator[OldPage]:
        """In the order of their timestamps, each with its tags and results."""
        query = "SELECT * FROM core_snapshot WHERE timestamp > ? ORDER BY timestamp"
        for row in self._rows(query, after):
            yield self._page(row)

    def rows_of(self, table: str) -> list[Row]:
        """All of a small table; none where there is no such table."""
        return list(self._rows(f"SELECT * FROM {table}")) if self._has(table) else []  # noqa: S608 - our own names

    def _page(self, row: Row) -> OldPage:
        timestamp = str(row["timestamp"])
        return OldPage(
            timestamp=timestamp,
            url=str(row["url"]),
            title=str(row.get("title") or ""),
            tags=self._tags(row),
            added_at=moment(row.get("downloaded_at") or row.get("added") or row.get("created_at")),
            bookmarked_at=closest_moment(row.get("bookmarked_at"), timestamp),
            results=tuple(self._results(row)),
        )

    def key_of(self, page: OldPage) -> str:
        """The key of its row, which names its folder in 0.9: 32 hex digits."""
        rows = self._rows("SELECT id FROM core_snapshot WHERE timestamp = ?", page.timestamp)
        return next((str(row["id"]).replace("-", "") for row in rows), "")

    def _tags(self, row: Row) -> tuple[str, ...]:
        if not self._has("core_snapshot_tags"):
            return split_tags(row.get("tags"))
        names = self._rows(
            "SELECT name FROM core_tag JOIN core_snapshot_tags ON tag_id = core_tag.id WHERE snapshot_id = ?"
            " ORDER BY name", row["id"],
        )  # fmt: skip
        return tuple(str(one["name"]) for one in names)

    def _results(self, row: Row) -> Iterator[OldResult]:
        if not self._has("core_archiveresult", "snapshot_id"):
            return
        query = "SELECT * FROM core_archiveresult WHERE snapshot_id = ? ORDER BY start_ts"
        for one in self._rows(query, row["id"]):
            result = OldResult.of(one.get("plugin") or one.get("extractor"), one)
            if result is not None:
                yield result

    def _has(self, table: str, column: str = "") -> bool:
        columns = self._columns.get(table, set())
        return column in columns if column else bool(columns)

    def _rows(self, query: str, *values: object) -> Iterator[Row]:
        for row in self._connection.execute(query, values):
            yield dict(row)
