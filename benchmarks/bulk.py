"""``archivebox add --index-only --file`` of 100,000 URLs, against writing the very same rows and nothing else.

The floor is the time of an interpreter that imports Django's ORM, and of one ``executemany`` of sqlite3 in one
transaction: the rows that ours has just written, ready in memory, into another initialised collection, with its
indexes, its foreign keys checked, and ``synchronous=FULL`` as ours. Not in the floor, and in ours: the start of a
command, reading the file, checking and parsing each URL, finding duplicates, keys and folders, the copy of the file
under sources/, and the one row each of the command and the crawl. Making the two collections is in neither.
"""

import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.commands import ARCHIVEBOX, DJANGO, collection, environment, seconds_of
from benchmarks.finding import Bound, Finding, interleaved

URLS, HOSTS = 100_000, 5_000
TABLES = ("auth_user", "crawls_crawl", "core_snapshot")
"""What the rows need, in the order of their foreign keys; the first two have a row each."""
SETTINGS = """
PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8000;
PRAGMA mmap_size=268435456; PRAGMA journal_size_limit=67108864;
"""
"""As in archivebox.config.settings."""


class Rows(NamedTuple):
    """A table's rows, in the order in which they were written."""

    table: str
    rows: list[tuple[Any, ...]]


def run(rounds: int) -> list[Finding]:
    finding = Finding(f"add of {URLS:,} URLs", "s", Bound.RATIO, 3, [], floor_name="insert of the rows")
    written: list[Rows] = []
    with tempfile.TemporaryDirectory(prefix="bench-bulk-") as folder:
        file = Path(folder) / "urls.txt"
        file.write_text("".join(f"https://host{n % HOSTS}.example/page/{n}\n" for n in range(URLS)))

        def ours() -> None:
            with collection() as data:
                command = [*ARCHIVEBOX, "add", "--index-only", "--file", str(file)]
                finding.ours.append(seconds_of(command, environment(data)))
                written[:] = read_rows(data / "index.sqlite3")

        def floor() -> None:
            with collection() as data:
                start = seconds_of(DJANGO, environment(data))
                finding.floor.append(start + insert(data / "index.sqlite3", written))

        interleaved(rounds, ours, floor)
    finding.notes = {"µs per URL": min(finding.ours) / URLS * 1e6, "of the floor": min(finding.floor) / URLS * 1e6}
    return [finding]


def read_rows(database: Path) -> list[Rows]:
    """All that a floor has to write; LookupError if ours did not write every page."""
    with sqlite3.connect(database) as connection:
        found = [Rows(name, connection.execute(f"SELECT * FROM {name} ORDER BY id").fetchall()) for name in TABLES]
    connection.close()
    if len(found[-1].rows) != URLS:
        raise LookupError(f"{len(found[-1].rows):,} pages were written of {URLS:,}")
    return found


def insert(database: Path, tables: list[Rows]) -> float:
    """Seconds from opening the database until all rows are committed and it is closed."""
    start = time.perf_counter()
    connection = sqlite3.connect(database, isolation_level=None)
    connection.executescript(SETTINGS)
    connection.execute("BEGIN IMMEDIATE")
    for table, rows in tables:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
    connection.execute("COMMIT")
    connection.close()
    return time.perf_counter() - start
