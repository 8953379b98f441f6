"""Reads the folder of an ArchiveBox of version 0.4 to 0.9: its database from a copy, else the index of each page."""

import heapq
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from uuid import UUID

from archivebox.config.conffile import ConfError, read_conf
from archivebox.config.origin import Origin, origin_of
from archivebox.imports.accounts_and_settings import AccountsAndSettings, ImportedSchedule, ImportedUser
from archivebox.imports.import_folder import Scratch
from archivebox.imports.page import ImportedPage, InterruptibleReader, NotImported, Reader, SourceReport, do_nothing
from archivebox.imports.readers.old_page import (
    OldPage,
    OldResult,
    PageFolder,
    PageTexts,
    closest_moment,
    headers_of,
    is_plain_folder,
    moment,
    of_timestamp,
    page_of_index,
    plugin_of,
    split_tags,
)
from archivebox.lib.batches import batches
from archivebox.lib.files import iter_statuses, read_regular
from archivebox.lib.links.databases import limit_work, open_untrusted, refuse_journal_of_several
from archivebox.lib.links.link import LinkFileError

Row = Mapping[str, object]
_KEY = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
"""No views, and no virtual tables."""
_BATCH = 50
"""Pages whose tags and results are read together; a row of a hostile file may have 16 MB."""
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

    sqlite3.DatabaseError or LinkFileError where it is damaged or hostile, OSError where it cannot be copied.
    """

    def __init__(self, path: Path) -> None:
        self._scratch = Scratch()
        copy = self._scratch.path / "index.sqlite3"
        for suffix in ("", "-wal", "-journal"):
            source = path.with_name(path.name + suffix)
            if source.is_file() and not source.is_symlink():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        refuse_journal_of_several(copy.with_name(f"{copy.name}-journal"))
        self._connection, self._path = open_untrusted(copy, checks_json=True), copy
        self._columns: dict[str, set[str]] = {}
        for (table,) in self._connection.execute(_TABLES).fetchall():
            columns = self._connection.execute("SELECT name FROM pragma_table_info(?)", [table])
            self._columns[table] = {str(column) for (column,) in columns}
        self._connection.row_factory = sqlite3.Row
        if not self._columns.get("core_snapshot", set()) >= {"id", "timestamp", "url"}:
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
        yield from self._pages("timestamp > ? ORDER BY timestamp", after)

    def page(self, timestamp: str) -> OldPage:
        """The one of this timestamp, which is there."""
        return next(self._pages("timestamp = ?", timestamp))

    def captured_again(self, folders: AbstractSet[str]) -> dict[str, str]:
        """Those of ``folders`` in which extractors ran for a page of another timestamp → that of the page."""
        if not folders or not self._has("core_archiveresult", "pwd"):
            return {}
        query = "SELECT DISTINCT pwd, timestamp FROM core_archiveresult r JOIN core_snapshot s ON snapshot_id = s.id"
        places = ((str(row["pwd"]).rpartition("/")[2], str(row["timestamp"])) for row in self._rows(query))
        return {folder: timestamp for folder, timestamp in places if folder in folders}

    def _pages(self, condition: str, value: str) -> Iterator[OldPage]:
        query = f"SELECT {self._all_of('core_snapshot')} FROM core_snapshot WHERE {condition}"  # noqa: S608 - our words
        for rows in batches(self._rows(query, value), _BATCH):
            keys = json.dumps([row["id"] for row in rows])
            tags, results = self._tags(keys), self._results(keys)
            for row in rows:
                yield self._page(row, tags, results)

    def rows_of(self, table: str) -> list[Row]:
        """All of a small table; none where there is no such table."""
        query = f"SELECT {self._all_of(table)} FROM {table}"  # noqa: S608 - our own names
        return list(self._rows(query)) if self._has(table) else []

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
            former_id=UUID(key) if isinstance(key, str) and _KEY.fullmatch(key) else None,
            depth=max(0, min(_number(row.get("depth")), 100)),
            note=_text(row, "notes"),
        )

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
                f"SELECT {self._all_of('core_archiveresult')} FROM core_archiveresult"  # noqa: S608 - its own names
                " WHERE snapshot_id IN (SELECT value FROM json_each(?)) ORDER BY start_ts"
            )
            for one in self._rows(query, keys):
                result = OldResult.of(one.get("plugin") or one.get("extractor"), one)
                if result is not None:
                    found.setdefault(one["snapshot_id"], []).append(result)
        return found

    def _all_of(self, table: str) -> str:
        """Its columns, but for those that an expression of the file computes."""
        return ", ".join('"{}"'.format(name.replace('"', '""')) for name in sorted(self._columns.get(table, ())))

    def _has(self, table: str, column: str = "") -> bool:
        columns = self._columns.get(table, set())
        return column in columns if column else bool(columns)

    def _rows(self, query: str, *values: object) -> Iterator[Row]:
        limit_work(self._connection, self._path)
        for row in self._connection.execute(query, values):
            yield dict(row)


# --- accounts and settings --------------------------------------------------------------------------------------------
CONF, INDEX = "ArchiveBox.conf", "index.sqlite3"
OWN_SETTINGS, OWN_ACCOUNTS = frozenset({"SECRET_KEY"}), frozenset({"system"})
"""What every installation makes for itself."""
MOST_CONF = 1024 * 1024
WORDS = {"hour": "hourly", "day": "daily", "week": "weekly", "month": "monthly", "year": "yearly"}
"""How often, in its words → in ours; the others are alike."""


def accounts_and_settings_of(root: Path, database: OldDatabase | None) -> AccountsAndSettings:
    """Settings come from its file; whatever is wrong with that is said."""
    users = tuple(_users(database)) if database is not None else ()
    schedules = tuple(_schedules(database)) if database is not None else ()
    conf, settings, problem = root / CONF, dict[str, str](), ""
    if conf.is_file() and not conf.is_symlink() and conf.stat().st_size <= MOST_CONF:
        try:
            settings = {name: value for name, value in read_conf(conf).items() if name not in OWN_SETTINGS}
        except ConfError as error:
            problem = str(error)
    return AccountsAndSettings(users, schedules, settings, problem)


def _users(database: OldDatabase) -> Iterator[ImportedUser]:
    for row in database.rows_of("auth_user"):
        username = str(row["username"])
        if username not in OWN_ACCOUNTS:
            yield ImportedUser(
                username, str(row["password"]), email=_text(row, "email"), first_name=_text(row, "first_name"),
                last_name=_text(row, "last_name"), is_superuser=bool(row.get("is_superuser")),
                is_staff=bool(row.get("is_staff")), is_active=bool(row.get("is_active")),
                joined_at=moment(row.get("date_joined")),
            )  # fmt: skip


def _schedules(database: OldDatabase) -> Iterator[ImportedSchedule]:
    crawls = {row["id"]: row for row in database.rows_of("crawls_crawl")}
    for row in database.rows_of("crawls_crawlschedule"):
        crawl, schedule = crawls.get(row.get("template_id"), {}), _text(row, "schedule")
        yield ImportedSchedule(
            WORDS.get(schedule, schedule), tuple(_text(crawl, "urls").split()), _number(crawl.get("max_depth")),
            split_tags(crawl.get("tags_str")), _text(row, "label") or _text(crawl, "label"),
            is_enabled=bool(row.get("is_enabled")),
        )  # fmt: skip


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


# --- the collection ---------------------------------------------------------------------------------------------------
MOST_INDEX = 32 * 1024 * 1024
"""Bytes of the longest index.json that is read."""

OF_PAGES = frozenset({"archive", "users", "index.sqlite3", "index.sqlite3-wal", "index.sqlite3-shm", CONF})
"""What is read."""
BESIDE = {
    "sources": "Lists of URLs that were added; the pages are imported.",
    "crawls": "What crawls needed while they ran; the pages are imported.",
    "logs": "Logs are not taken over.",
    "personas": "Browser profiles are not taken over: `archivebox persona` makes new ones.",
    "index.html": "A list of the pages, made from the database.",
    "index.json": "A list of the pages, made from the database.",
}
"""What lies beside the pages → why it is not imported."""


class OldCollection(InterruptibleReader):
    """Pages of the database; without one those of folders that have an index of their own."""

    def __init__(self, root: Path, database: OldDatabase | None) -> None:
        self._root, self._database = root, database

    def report(self) -> SourceReport:
        files = size = 0
        for file in iter_statuses(self._root / "archive"):
            self.stop()
            files, size = files + 1, size + file.st_size
        pages = sum(isinstance(item, OldPage) and item.captured_at is not None for item in self._found())
        kind = f"ArchiveBox {self._database.version} collection" if self._database else "Folder of archived pages"
        identity = self._database.identity if self._database else ""
        notes = self.accounts_and_settings().notes
        if self._database is None and (self._root / INDEX).exists():
            notes.append(f"{INDEX} is empty or damaged: the pages are those of archive/*/index.json.")
        return SourceReport(kind, pages, files, size, tuple(self._left_out()), identity, tuple(notes))

    def pages(self, after: str = "") -> Iterator[ImportedPage | NotImported]:
        for found in self._found(after):
            yield from [found] if isinstance(found, NotImported) else self._imported(found)
        yield from self._left_out()

    def accounts_and_settings(self) -> AccountsAndSettings:
        return accounts_and_settings_of(self._root, self._database)

    def has_pages(self) -> bool:
        return any(isinstance(item, OldPage) for item in self._found())

    # --- which pages there are ---------------------------------------------------------------------------------

    def _found(self, after: str = "") -> Iterator[OldPage | NotImported]:
        """In the order of their timestamps, as texts."""
        if self._database is not None:
            again = (self._captured_again(one) for one in sorted(self._again) if one > after)
            pages = map(self._captured_first, self._database.pages(after))
            for found in heapq.merge(pages, again, key=lambda page: page.timestamp):
                self.stop()
                yield found
            return
        for name in self._folders:
            self.stop()
            if name > after:
                page = self._indexed(name)
                yield page if page is not None else NotImported(f"archive/{name}", "It has no index.json of a page.")

    def _left_out(self) -> Iterator[NotImported]:
        """What is of no page: folders that the database does not know, and what lies beside archive/."""
        if self._database is not None:
            for name in sorted(self._unknown_folders - self._again.keys()):
                yield NotImported(f"archive/{name}", "The database has no page of this timestamp.")
            for row in self._database.rows_of("crawls_crawl"):
                if about := " ".join(filter(None, (_text(row, "label"), _text(row, "notes")))):
                    yield NotImported(f"crawl {about}", "Labels and notes of crawls; the pages are imported.")
        for entry in sorted(self._root.iterdir()):
            if entry.name not in OF_PAGES:
                yield NotImported(entry.name, BESIDE.get(entry.name, "It is of no page."))

    @cached_property
    def _folders(self) -> list[str]:
        """The names of folders in archive/ that are timestamps."""
        if not is_plain_folder(self._root, "archive"):
            return []
        with os.scandir(self._root / "archive") as entries:
            return sorted(one.name for one in entries if of_timestamp(one.name) and not one.is_symlink())

    def _indexed(self, name: str) -> OldPage | None:
        """What the index.json in a page's folder tells."""
        try:
            record = json.loads(read_regular(f"{self._root}/archive/{name}/index.json", MOST_INDEX))
        except (OSError, ValueError, RecursionError):
            return None
        page = page_of_index(record) if isinstance(record, dict) else None
        return page if page is not None and page.timestamp == name else None

    @cached_property
    def _unknown_folders(self) -> AbstractSet[str]:
        return self._known_folders - self._database.timestamps() if self._database is not None else frozenset()

    @cached_property
    def _again(self) -> dict[str, str]:
        """Folders of captures that share the row of an earlier one (`add --overwrite`) → the timestamp of that."""
        return self._database.captured_again(self._unknown_folders) if self._database is not None else {}

    def _captured_first(self, page: OldPage) -> OldPage:
        """Without what ran in the folder of a later capture."""
        return replace(page, results=tuple(one for one in page.results if one.ran_in not in self._again))

    def _captured_again(self, timestamp: str) -> OldPage:
        assert self._database is not None  # noqa: S101 - it has told of it
        page = self._database.page(self._again[timestamp])
        own = tuple(one for one in page.results if one.ran_in == timestamp)
        at = of_timestamp(timestamp)
        return replace(page, timestamp=timestamp, added_at=at, bookmarked_at=at, results=own, note="", former_id=None)

    # --- one page ----------------------------------------------------------------------------------------------

    def _imported(self, page: OldPage) -> Iterator[ImportedPage | NotImported]:
        below = self._folder_of(page)
        results = page.results or self._results_of_index(page)
        folder = PageFolder.read(f"{self._root}/{below}", results) if below else PageFolder()
        yield from folder.left_out
        for name in sorted({one.extractor for one in results if not plugin_of(one.extractor)}):
            yield NotImported(f"result {name} of {page.url}", "No plugin can have this name.")
        captured_at, url = page.captured_at, page.own_url
        if captured_at is None:
            yield NotImported(page.url, "It has no date.")
            return
        status, mime_type = headers_of(folder)
        outputs, done = tuple(folder.outputs(results)), do_nothing
        if not any(one.plugin == "htmltotext" for one in outputs):
            made = self._texts.scratch.page_folder()
            outputs, done = outputs + self._texts.read(outputs, url, made), partial(self._texts.scratch.remove, made)
        yield ImportedPage(
            key=page.timestamp, url=url, captured_at=captured_at, title=page.title, tags=page.tags,
            bookmarked_at=page.bookmarked_at, http_status=status, mime_type=mime_type,
            outputs=outputs, done=done, former_id=page.former_id, depth=page.depth, note=page.note,
        )  # fmt: skip

    @cached_property
    def _texts(self) -> PageTexts:
        return PageTexts()

    def _results_of_index(self, page: OldPage) -> tuple[OldResult, ...]:
        """Up to 0.5 the folder of a page alone said what its extractors did."""
        indexed = self._indexed(page.timestamp) if page.timestamp in self._known_folders else None
        return indexed.results if indexed is not None else ()

    @cached_property
    def _known_folders(self) -> frozenset[str]:
        return frozenset(self._folders)

    def _folder_of(self, page: OldPage) -> str:
        """Below the collection; empty where it has none, or a link leads to it."""
        if page.timestamp in self._known_folders:
            return f"archive/{page.timestamp}"
        return self._by_key.get(page.former_id.hex, "") if page.former_id else ""

    @cached_property
    def _by_key(self) -> dict[str, str]:
        """Key → folder of the pages of 0.9: archive/users/USER/snapshots/DAY/HOST/KEY."""
        found: dict[str, str] = {}
        for users in ("archive/users", "users"):
            for path in (self._root / users).glob("*/snapshots/*/*/*"):
                self.stop()
                below = path.relative_to(self._root).as_posix()
                if is_plain_folder(self._root, below):
                    found[path.name.replace("-", "")] = below
        return found


def open_old_collection(path: Path) -> Reader | None:
    """The reader of a data folder of ArchiveBox 0.4 to 0.9, or of what is left of one; None for anything else."""
    if not path.is_dir():
        return None
    index = path / INDEX
    origin = origin_of(index) if index.is_file() else Origin.FOREIGN if index.exists() else Origin.NOBODYS
    if origin.is_older:
        try:
            database = OldDatabase(index)
        except (sqlite3.DatabaseError, LinkFileError):
            return OldCollection(path, None)
        return OldCollection(path, database)
    if origin not in {Origin.NOBODYS, Origin.DAMAGED}:
        return None
    collection = OldCollection(path, None)
    return collection if collection.has_pages() else None
