"""``archivebox backup`` of 20,000 files: the first against ``cp -r``, one without changes against a walk with stat(2).

The floor of the first is ``cp -r`` of the data folder, and syncfs(2) of what it wrote, as a backup is durable. Ours
also copies the database, hashes each file, writes the manifest, and starts as a command. The floor of the second is the
import of the ORM, and a walk that asks for the status of each file; ours also compares it with the manifest, links the
file, and writes a manifest. Deleting what was written is in none.
"""

import os
import shutil
import time
from pathlib import Path

from benchmarks.commands import ARCHIVEBOX, DJANGO, collection, environment, seconds_of
from benchmarks.finding import Bound, Finding, interleaved

PAGES, FILES, SIZE = 500, 40, 6_000
"""Pages, files of each, and bytes of each file."""


def run(rounds: int) -> list[Finding]:
    count = f"{PAGES * FILES:,} files"
    first = Finding(f"first backup, {count}", "s", Bound.RATIO, 4, [], floor_name="cp -r, synced")
    unchanged = Finding(f"backup without changes, {count}", "s", Bound.RATIO, 8, [], floor_name="ORM and walk")
    with collection() as data:
        fill(data / "users" / "bench")
        env, dest, copy = environment(data), data.with_name("dest"), data.with_name("copy")
        backup = [*ARCHIVEBOX, "backup", str(dest)]

        def ours() -> None:
            first.ours.append(seconds_of(backup, env))
            unchanged.ours.append(seconds_of(backup, env))
            shutil.rmtree(dest)

        def floor() -> None:
            first.floor.append(
                seconds_of(["sh", "-c", 'cp -r "$1" "$2" && sync -f "$2"', "sh", str(data), str(copy)], env)
            )
            shutil.rmtree(copy)
            unchanged.floor.append(seconds_of(DJANGO, env) + walk(data))

        interleaved(rounds, floor, ours)
    return [first, unchanged]


def fill(folder: Path) -> None:
    """Write pages whose files differ, so that no disk keeps equal ones once."""
    for page in range(PAGES):
        place = folder / f"{page:04}"
        place.mkdir(parents=True)
        for number in range(FILES):
            (place / f"{number:02}").write_bytes(os.urandom(SIZE))
    os.sync()


def walk(folder: Path) -> float:
    """Seconds of asking for the status of everything below ``folder``; LookupError if there is too little."""
    start, found, waiting = time.perf_counter(), 0, [str(folder)]
    for place in waiting:  # it grows
        with os.scandir(place) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                found += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    if found < PAGES * FILES:
        raise LookupError(f"{found:,} files were found of {PAGES * FILES:,}")
    return time.perf_counter() - start
