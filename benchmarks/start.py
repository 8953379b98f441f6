"""How long a command takes that has next to nothing to do, against an interpreter that imports Django's ORM.

``version`` asks nothing of a collection, so it may not pay for one; ``status`` counts 10,000 pages.
"""

from pathlib import Path

from archivebox.config.settings import DATA_FOLDER
from benchmarks.commands import ARCHIVEBOX, DJANGO, environment, seconds_of
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.queue_rows import crawl, fill, settle

PAGES, HOSTS = 10_000, 500
CALLS = 5
"""Of each way in a round."""


def run(rounds: int) -> list[Finding]:
    pages = crawl()
    fill(pages, 1, PAGES, HOSTS)
    settle([pages])
    env = environment(Path(DATA_FOLDER.root))
    version = Finding("archivebox version", "s", Bound.RATIO, 0.6, [], floor_name="import of the ORM")
    status = Finding("archivebox status, 10,000 pages", "s", Bound.RATIO, 2.5, [], floor_name="import of the ORM")

    def floor() -> None:
        version.floor.append(seconds_of(DJANGO, env))

    def ours() -> None:
        version.ours.append(seconds_of([*ARCHIVEBOX, "version"], env))
        status.ours.append(seconds_of([*ARCHIVEBOX, "status"], env))

    interleaved(rounds * CALLS, floor, ours)
    status.floor = version.floor
    return [version, status]
