"""Owns a data folder of an earlier ArchiveBox as a source of pages."""

import json
import os
import sqlite3
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path

from archivebox.config.origin import origin_of
from archivebox.imports.accounts_and_settings import AccountsAndSettings
from archivebox.imports.page import ImportedPage, InterruptibleReader, NotImported, Reader, SourceReport, do_nothing
from archivebox.imports.readers.old.accounts_and_settings import CONF, accounts_and_settings_of
from archivebox.imports.readers.old.database import OldDatabase
from archivebox.imports.readers.old.moments import of_timestamp
from archivebox.imports.readers.old.page_folder import PageFolder, headers_of, is_plain_folder
from archivebox.imports.readers.old.page_text import PageTexts
from archivebox.imports.readers.old.record import OldPage, OldResult, page_of_index
from archivebox.lib.files import iter_statuses, read_regular

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
        besides = self.accounts_and_settings().sentence
        notes = (f"Besides pages: {besides}.",) if besides else ()
        return SourceReport(kind, pages, files, size, tuple(self._left_out()), identity, notes)

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
            for row in self._database.pages(after):
                self.stop()
                yield row
            return
        for name in self._folders:
            self.stop()
            if name > after:
                page = self._indexed(name)
                yield page if page is not None else NotImported(f"archive/{name}", "It has no index.json of a page.")

    def _left_out(self) -> Iterator[NotImported]:
        """What is of no page: folders that the database does not know, and what lies beside archive/."""
        if self._database is not None:
            for name in sorted(self._known_folders - self._database.timestamps()):
                yield NotImported(f"archive/{name}", "The database has no page of this timestamp.")
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

    # --- one page ----------------------------------------------------------------------------------------------

    def _imported(self, page: OldPage) -> Iterator[ImportedPage | NotImported]:
        below = self._folder_of(page)
        folder = PageFolder.read(f"{self._root}/{below}") if below else PageFolder()
        results = page.results or self._results_of_index(page)
        yield from folder.left_out
        captured_at, url = page.captured_at, page.own_url
        if captured_at is None:
            yield NotImported(page.url, "It has no date.")
            return
        status, mime_type = headers_of(folder)
        outputs, done = tuple(folder.outputs(results)), do_nothing
        if not any(one.plugin == "htmltotext" for one in outputs):
            made = self._texts.scratch.page_folder()
            outputs, done = outputs + self._texts.read(folder, url, made), partial(self._texts.scratch.remove, made)
        yield ImportedPage(
            key=page.timestamp, url=url, captured_at=captured_at, title=page.title, tags=page.tags,
            bookmarked_at=page.bookmarked_at, http_status=status, mime_type=mime_type,
            outputs=outputs, done=done,
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
        key = self._database.key_of(page) if self._database is not None and self._by_key else ""
        return self._by_key.get(key, "")

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
    index = path / "index.sqlite3"
    if index.is_file() and origin_of(index).is_older:
        try:
            database = OldDatabase(index)
        except sqlite3.DatabaseError:
            return OldCollection(path, None)
        return OldCollection(path, database)
    if index.exists():
        return None
    collection = OldCollection(path, None)
    return collection if collection.has_pages() else None
