"""Owns reading the databases of browsers, which are copied first: the browser may be running, and is not disturbed."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

from archivebox.lib.links.dates import iso
from archivebox.lib.links.link import DEEPEST, Link, LinkFileError, folder_tags, joined

_BESIDE = ("-wal", "-journal")
"""What belongs to a database; the ``-shm`` of another process is never copied, SQLite makes its own."""
_OF_SEVERAL = bytes.fromhex("d9d505f920a163d7")
"""Ends a journal that names a file which SQLite deletes when it has rolled back (pager.c); no browser writes it."""
_COPIES, _PAUSE = 5, 0.2
"""Copies that are tried while a browser writes, and the seconds between two."""
_LONGEST = 16_000_000
"""Bytes of one value or row."""
_STEPS_ALWAYS, _STEPS_A_BYTE, _STEPS_PER_CALL = 2_000_000, 8, 100_000
"""What SQLite may do for one list: a row has at least 40 bytes and takes less than a hundred steps."""
_MOST_FOLDERS, _MOST_ROWS = 100_000, 10_000
"""Folders of a profile, and bookmarks and tags of one page."""
_FIREFOX, _CHROME = frozenset({"moz_bookmarks", "moz_places"}), frozenset({"urls", "visits"})
_ROOTS = frozenset({"root________", "menu________", "toolbar_____", "unfiled_____", "mobile______"})
_TAGS_ROOT = "tags________"
"""Folders that Firefox has of itself (Bookmarks.sys.mjs); each folder in the last one is a tag."""

_TABLES = """SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'
    AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(sqlite_master.name) WHERE hidden <> 0)"""
_BOOKMARKS = """SELECT b.fk, p.url, b.title, p.title, b.dateAdded, b.parent FROM moz_bookmarks b
    JOIN moz_places p ON p.id = b.fk WHERE b.type = 1 ORDER BY b.fk"""
_FOLDERS = "SELECT id, parent, title, guid FROM moz_bookmarks WHERE type = 2 LIMIT ?"
_VISITED_FIREFOX = "SELECT url, title, last_visit_date FROM moz_places WHERE hidden = 0 AND last_visit_date > 0"
_VISITED_CHROME = "SELECT url, title, last_visit_time FROM urls WHERE hidden = 0 AND last_visit_time > 0"


def read(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """The bookmarks of ``places.sqlite``, or the visited pages of a ``History``; LinkFileError for other databases."""
    yield from _read(file, visits=False)


def read_history(file: BinaryIO, _base: str = "") -> Iterator[Link]:
    """The visited pages of either."""
    yield from _read(file, visits=True)


def _read(file: BinaryIO, *, visits: bool) -> Iterator[Link]:
    try:
        with _copied(file) as path, closing(open_untrusted(path)) as database:
            tables = _tables(database)
            if tables >= _FIREFOX:
                _allow_only(database, _FIREFOX)
                yield from _visited(database, _VISITED_FIREFOX) if visits else _bookmarks(database)
            elif tables >= _CHROME:
                _allow_only(database, _CHROME)
                yield from _visited(database, _VISITED_CHROME)
            else:
                raise LinkFileError(_other(tables))
    except sqlite3.Error as error:
        raise LinkFileError(_reason(error)) from None


def _other(tables: set[str]) -> str:
    if "core_snapshot" in tables:
        return "is the database of an ArchiveBox collection, whose pages are more than a list of URLs"
    return "is a database, but neither Firefox's places.sqlite nor a History of Chrome, Edge, Brave, Vivaldi or Opera"


def _reason(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")  # what Python raises of itself has none
    if name == "SQLITE_INTERRUPT":
        return "takes more work to read than any database of a browser of its size"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"is a broken database ({error}). If its browser is running, close it, and try again"
    return f"is a database of a browser that is not understood ({error})"


# --- copy and open --------------------------------------------------------------------------------------------


@contextmanager
def _copied(file: BinaryIO) -> Iterator[Path]:
    """A copy with what SQLite keeps beside it, all of one moment where that can be had."""
    with TemporaryDirectory(prefix="archivebox-list-") as folder:
        copy = Path(folder, "list.sqlite")
        for _ in range(_COPIES):
            before = _state(file)
            _copy(file, copy)
            if _state(file) == before:
                break
            time.sleep(_PAUSE)
        yield copy


def _copy(file: BinaryIO, copy: Path) -> None:
    file.seek(0)
    with copy.open("wb") as target:
        shutil.copyfileobj(file, target, 1 << 20)
    for ending in _BESIDE:
        beside = Path(f"{copy}{ending}")
        beside.unlink(missing_ok=True)
        if (path := _place(file)) and Path(f"{path}{ending}").is_file():
            with suppress(FileNotFoundError):  # the browser has just closed it
                shutil.copyfile(f"{path}{ending}", beside)
    refuse_journal_of_several(Path(f"{copy}-journal"))


def refuse_journal_of_several(journal: Path) -> None:
    """LinkFileError for a journal by which SQLite would delete another file."""
    if not journal.is_file():
        return
    with journal.open("rb") as file:
        file.seek(max(0, journal.stat().st_size - len(_OF_SEVERAL)))
        if file.read() == _OF_SEVERAL:
            raise LinkFileError("has a journal beside it that names another file, which no browser writes")


def _state(file: BinaryIO) -> list[tuple[int, int]]:
    """Size and time of all that is copied; empty for what lies nowhere."""
    path = _place(file)
    found = [Path(f"{path}{ending}") for ending in ("", *_BESIDE)] if path else []
    return [(facts.st_size, facts.st_mtime_ns) for one in found if (facts := _facts(one)) is not None]


def _facts(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _place(file: BinaryIO) -> Path | None:
    """Where the file lies; None if it is nowhere, or if its name is only what a stranger calls it."""
    name = getattr(file, "name", None)
    if not isinstance(name, str | os.PathLike):
        return None
    try:
        path = Path(name).resolve()
        return path if os.path.samestat(os.fstat(file.fileno()), path.stat()) else None
    except (OSError, ValueError, RuntimeError):
        return None


def open_untrusted(path: Path, *, checks_json: bool = False) -> sqlite3.Connection:
    """A database that lies alone in its folder: nothing that a hostile schema holds is run, if plain tables are read.

    ``checks_json``: its columns have such constraints, as Django makes them; where functions of the schema are not
    trusted, SQLite takes it for damaged.
    """
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    database.text_factory = lambda raw: raw.decode("utf-8", "replace").replace("\0", "\ufffd")
    limit_work(database, path)
    for setting in (f"trusted_schema = {checks_json}", "cell_size_check = ON", "query_only = ON"):
        database.execute(f"PRAGMA {setting}")
    return database


def limit_work(database: sqlite3.Connection, path: Path) -> None:
    """From now on no more is done than reading the file takes; sqlite3.OperationalError (SQLITE_INTERRUPT) beyond."""
    size = sum(one.stat().st_size for one in path.parent.iterdir())
    steps = iter(range((_STEPS_ALWAYS + _STEPS_A_BYTE * size) // _STEPS_PER_CALL))
    database.set_progress_handler(lambda: next(steps, None) is None, _STEPS_PER_CALL)


def _tables(database: sqlite3.Connection) -> set[str]:
    """Plain tables without computed columns: a view, virtual table or expression could run anything."""
    return {str(name) for (name,) in database.execute(_TABLES)}


def _allow_only(database: sqlite3.Connection, tables: frozenset[str]) -> None:
    def allowed(action: int, name: str | None, *_more: str | None) -> int:
        reads = action == sqlite3.SQLITE_SELECT or (action == sqlite3.SQLITE_READ and name in tables)
        return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY

    database.set_authorizer(allowed)


# --- rows -----------------------------------------------------------------------------------------------------


class _Bookmark(NamedTuple):
    """A bookmark, or a tag that was put on a page: which of these its folder says."""

    place: int
    url: str
    title: str
    title_of_page: str
    added: object
    folder: int


def _bookmarks(database: sqlite3.Connection) -> Iterator[Link]:
    """One for each page, with its tags and the folders of all its bookmarks, and the date of the first."""
    folders = _Folders(database)
    rows = (_Bookmark(*row) for row in database.execute(_BOOKMARKS))
    for _, same in groupby(rows, lambda row: row.place):
        page = list(islice(same, _MOST_ROWS))
        kept = [row for row in page if not folders.is_tag(row.folder)]
        if kept and not str(kept[0].url).startswith("place:"):  # searches of the browser's own
            title = next((str(row.title) for row in kept if row.title), "") or page[0].title_of_page
            tags = tuple(folders.name(row.folder) for row in page if folders.is_tag(row.folder))
            inside = (folders.tags(row.folder) for row in kept)
            added = min(filter(None, (iso(str(row.added)) for row in kept)), default="")
            yield _link(kept[0].url, title, added, joined(tags, *inside))


def _visited(database: sqlite3.Connection, query: str) -> Iterator[Link]:
    for url, title, visited in database.execute(query):
        if str(url).startswith(("http://", "https://")):  # what else a browser has shown is no page of the web
            yield _link(url, title, iso(str(visited)))


def _link(url: object, title: object, date: str, tags: tuple[str, ...] = ()) -> Link:
    if not isinstance(url, str) or not url:
        return Link(0, "", problem="its row names none")
    return Link(0, url, " ".join(str(title or "").split()), tags, date=date)


class _Folders:
    """The folders of a Firefox by their id."""

    def __init__(self, database: sqlite3.Connection) -> None:
        rows = database.execute(_FOLDERS, [_MOST_FOLDERS])
        self._rows = {key: (parent, title, guid) for key, parent, title, guid in rows}

    def is_tag(self, key: int) -> bool:
        parent = self._rows[key][0] if key in self._rows else None
        return parent in self._rows and self._rows[parent][2] == _TAGS_ROOT

    def name(self, key: int) -> str:
        return " ".join(str(self._rows[key][1] or "").split())

    def tags(self, key: int) -> tuple[str, ...]:
        """From the outermost one that a person has made; more of them than `DEEPEST` are a cycle."""
        names: list[str] = []
        while key in self._rows and len(names) < DEEPEST and self._rows[key][2] not in _ROOTS:
            names.insert(0, self.name(key))
            key = self._rows[key][0]
        return folder_tags(dict.fromkeys(names))
