"""Owns reading the database of an earlier ArchiveBox: from a copy, whatever its version."""

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from archivebox.imports.readers.old.moments import closest_moment, moment
from archivebox.imports.readers.old.record import OldPage, OldResult, split_tags
from archivebox.imports.scratch import Scratch
from archivebox.lib.batches import batches

Row = Mapping[str, object]
_BATCH = 200
"""Pages whose tags and results are read together."""
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
        self._scratch = Scratch()
        copy = self._scratch.path / "index.sqlite3"
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
        for rows in batches(self._rows(query, after), _BATCH):
            keys = json.dumps([row["id"] for row in rows])
            tags, results = self._tags(keys), self._results(keys)
            for row in rows:
                yield self._page(row, tags, results)

    def rows_of(self, table: str) -> list[Row]:
        """All of a small table; none where there is no such table."""
        return list(self._rows(f"SELECT * FROM {table}")) if self._has(table) else []  # noqa: S608 - our own names

    def _page(self, row: Row, tags: Mapping[object, list[str]], results: Mapping[object, list[OldResult]]) -> OldPage:
        timestamp, key = str(row["timestamp"]), row["id"]
        return OldPage(
            timestamp=timestamp,
            url=str(row["url"]),
            title=str(row.get("title") or ""),
            tags=tuple(tags.get(key, ())) if self._has("core_snapshot_tags") else split_tags(row.get("tags")),
            added_at=moment(row.get("downloaded_at") or row.get("added") or row.get("created_at")),
            bookmarked_at=closest_moment(row.get("bookmarked_at"), timestamp),
            results=tuple(results.get(key, ())),
        )

    def key_of(self, page: OldPage) -> str:
        """The key of its row, which names its folder in 0.9: 32 hex digits."""
        rows = self._rows("SELECT id FROM core_snapshot WHERE timestamp = ?", page.timestamp)
        return next((str(row["id"]).replace("-", "") for row in rows), "")

    def _tags(self, keys: str) -> Mapping[object, list[str]]:
        """Those of pages, by the keys of their rows. ``keys``: as a JSON array."""
        found: dict[object, list[str]] = {}
        if self._has("core_snapshot_tags"):
            query = (
                "SELECT snapshot_id, name FROM core_tag JOIN core_snapshot_tags ON tag_id = core_tag.id"
                " WHERE snapshot_id IN (SELECT value FROM json_each(?)) ORDER BY name"
            )
            for one in self._rows(query, keys):
                found.setdefault(one["snapshot_id"], []).append(str(one["name"]))
        return found

    def _results(self, keys: str) -> Mapping[object, list[OldResult]]:
        """The same of results."""
        found: dict[object, list[OldResult]] = {}
        if self._has("core_archiveresult", "snapshot_id"):
            query = (
                "SELECT * FROM core_archiveresult WHERE snapshot_id IN (SELECT value FROM json_each(?))"
                " ORDER BY start_ts"
            )
            for one in self._rows(query, keys):
                result = OldResult.of(one.get("plugin") or one.get("extractor"), one)
                if result is not None:
                    found.setdefault(one["snapshot_id"], []).append(result)
        return found

    def _has(self, table: str, column: str = "") -> bool:
        columns = self._columns.get(table, set())
        return column in columns if column else bool(columns)

    def _rows(self, query: str, *values: object) -> Iterator[Row]:
        for row in self._connection.execute(query, values):
            yield dict(row)
