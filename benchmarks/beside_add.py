"""Ten whole ``archivebox add`` commands while another one adds 300,000 URLs: from the start of each to its end.

They are spread over the writing of the long list, which is in parts so that others write in between. An ``add
--index-only`` ends when its crawl is accepted. The floor is the same command in the same collection before and after.
"""

import itertools
import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.commands import ARCHIVEBOX, REPOSITORY, collection, environment, seconds_of
from benchmarks.finding import Bound, Finding

URLS, HOSTS, OTHERS = 300_000, 5_000, 10
SHARE = URLS // (OTHERS + 1)
"""URLs that are written between two of the others."""
ACCEPTED = 2.0
"""Seconds for each of the others, at most."""
ADD = (*ARCHIVEBOX, "add", "--index-only")


def run(rounds: int) -> list[Finding]:
    """One long list is enough: ten others are ten figures, and it takes minutes."""
    finding = Finding(
        f"add beside an add of {URLS:,} URLs", "s", Bound.MOST, ACCEPTED, [], floor_name="add alone", quantile=1
    )
    with tempfile.TemporaryDirectory(prefix="bench-beside-") as folder, collection() as data:
        file = Path(folder) / "urls.txt"
        file.write_text("".join(f"https://host{n % HOSTS}.example/page/{n}\n" for n in range(URLS)))
        numbers = itertools.count()

        def other() -> float:
            return seconds_of([*ADD, f"https://other.example/{next(numbers)}"], environment(data))

        finding.floor += [other() for _ in range(rounds)]
        start = time.perf_counter()
        with subprocess.Popen([*ADD, "--file", str(file)], cwd=REPOSITORY, env=environment(data)) as long:
            for number in range(OTHERS):
                wait_for_rows(data, SHARE * number + 1, long)
                finding.ours.append(other())
            if long.poll() is not None:
                raise LookupError("the long list was added before the others were")
        finding.notes = {"the long one": f"{time.perf_counter() - start:.0f} s"}
        if long.returncode:
            raise subprocess.CalledProcessError(long.returncode, "add")
    return [finding]


def wait_for_rows(data: Path, least: int, long: "subprocess.Popen[bytes]") -> None:
    """Until so many pages of the long list are committed; LookupError when its command ended before."""
    with closing(sqlite3.connect(data / "index.sqlite3", timeout=30)) as database:
        while database.execute("SELECT count(*) FROM core_snapshot").fetchone()[0] < least:
            if long.poll() is not None:
                raise LookupError("the long list ended before its time")
            time.sleep(0.1)
