"""``archivebox import`` of 5,000 pages of ArchiveBox 0.7, copied, against ``cp -r`` of their folder.

Both until it is on the disk. Ours also hashes each file while it is copied, reads it again and compares it, signs the
hashes, writes the rows, and starts as a command. Indexing for search is switched off.

Nothing is deleted before the end: ext4 gives the inode of a deleted file to no other for one to five minutes, and looks
at each such inode for every new file (``recently_deleted`` in fs/ext4/ialloc.c). After 44,000 deleted inodes ``cp -r``
of 1,000 pages took 4.9 s of the processor instead of 0.6. What other programs delete meanwhile does the same. All
copies and collections are on the disk together: 1.3 GB each.
"""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.commands import ARCHIVEBOX, environment, seconds_of
from benchmarks.finding import Bound, Finding, interleaved
from tests.old_collection import SCHEMA

PAGES = 5_000
FILES = {
    "singlefile.html": 60_000, "output.html": 30_000, "screenshot.png": 40_000, "output.pdf": 40_000,
    "htmltotext.txt": 4_000, "headers.json": 600, "index.json": 6_000, "index.html": 8_000, "favicon.ico": 1_000,
    "warc/1600000000.warc.gz": 30_000, "example.com/index.html": 20_000, "example.com/style.css": 5_000,
}  # fmt: skip
"""Name and size of what a page has."""


def run(rounds: int) -> list[Finding]:
    copied = Finding(f"import of {PAGES:,} pages", "s", Bound.RATIO, 6, [], floor_name="cp -r, sync")
    with tempfile.TemporaryDirectory(prefix="bench-import-") as folder:
        source = Path(folder, "old")
        fill(source)

        def ours() -> None:
            data = Path(folder, f"collection-{len(copied.ours)}")
            env = environment(data, SEARCH_BACKEND_ENGINE="")
            seconds_of([*ARCHIVEBOX, "init"], env)
            copied.ours.append(seconds_of([*ARCHIVEBOX, "import", str(source), "--yes"], env))

        def floor() -> None:
            copy, env = Path(folder, f"copy-{len(copied.floor)}"), dict(os.environ)
            seconds = seconds_of(["cp", "-r", str(source), str(copy)], env)
            copied.floor.append(seconds + seconds_of(["sync", "-f", str(copy)], env))

        interleaved(rounds, floor, ours)
    return [copied]


def fill(root: Path) -> None:
    """Write pages whose files differ, so that no disk keeps equal ones once."""
    times = [f"{1_600_000_000 + number}.5" for number in range(PAGES)]
    for timestamp in times:
        for name, size in FILES.items():
            path = root / "archive" / timestamp / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(size))
    with closing(sqlite3.connect(root / "index.sqlite3")) as database:
        database.executescript(SCHEMA)
        rows = [(f"{n:032x}", f"https://example.com/{n}", time, "A page") for n, time in enumerate(times)]
        date = "'2020-09-14 10:00:00.654321', NULL"
        database.executemany(f"INSERT INTO core_snapshot VALUES (?, ?, ?, ?, {date})", rows)
        database.commit()
    os.sync()
