"""Leases per second of four worker processes on one SQLite database with ``synchronous=FULL``.

Each takes pages as a worker does: look for what is due, lease it, one transaction a look. The peer does the least that
any queue in SQLite can: one UPDATE … RETURNING and a commit a task, without hosts, fences, or a look at what is due.
"""

import itertools
import multiprocessing
import sqlite3
import time
from multiprocessing.synchronize import Barrier
from uuid import UUID, uuid4

from django.db import connections

from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot
from archivebox.workers.queue.claim import claim
from archivebox.workers.queue.due import Allowance, Cursor, due
from archivebox.workers.queue.hosts import BlockedHosts
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.queue_rows import crawl, fill, settle

WORKERS, PAGES, HOSTS, IN_FLIGHT = 4, 4_000, 64, 4


def run(rounds: int) -> list[Finding]:
    finding = Finding("leases of 4 workers", "/s", Bound.LEAST, 2000, [], floor_name="UPDATE RETURNING")
    lost: list[float] = []
    work = crawl()
    numbers = itertools.count(1, PAGES)
    pattern, all_pages = Snapshot.objects.get(crawl=work), Snapshot.objects.filter(crawl=work)

    def ours() -> None:
        all_pages.filter(pk=pattern.pk).update(owner=None, retry_at=pattern.retry_at)
        fill(work, next(numbers), PAGES, HOSTS)
        settle([work])
        seconds, claimed, races = together(str(work.pk))
        all_pages.update(retry_at=None, owner=None)
        finding.ours.append(claimed / seconds)
        lost.append(races / claimed)

    def peer() -> None:
        path = DATA_FOLDER.run / "peer.sqlite3"
        prepare_peer(str(path))
        seconds, claimed, _ = together(str(path), peer=True)
        finding.floor.append(claimed / seconds)

    interleaved(rounds, peer, ours)
    finding.notes = {"races lost per lease": sum(lost) / len(lost)}
    return [finding]


def together(what: str, *, peer: bool = False) -> tuple[float, int, int]:
    """Let the workers take everything; seconds from the first start to the last end, leases, races lost."""
    connections.close_all()
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(WORKERS), context.SimpleQueue()
    ways = [context.Process(target=take_all, args=(what, peer, barrier, answers)) for _ in range(WORKERS)]
    for way in ways:
        way.start()
    said: list[tuple[float, float, int, int]] = [answers.get() for _ in ways]
    for way in ways:
        way.join()
    return (
        max(one[1] for one in said) - min(one[0] for one in said),
        sum(one[2] for one in said),
        sum(one[3] for one in said),
    )


def take_all(what: str, peer: bool, barrier: Barrier, answers: "multiprocessing.SimpleQueue[object]") -> None:
    barrier.wait()
    start = time.monotonic()
    claimed, races = take_from_peer(what) if peer else take_from_crawl(what)
    answers.put((start, time.monotonic(), claimed, races))
    connections.close_all()


def take_from_crawl(key: str) -> tuple[int, int]:
    """Look and lease until nothing is due, as a worker with nothing in flight does."""
    me, cursor = uuid4(), Cursor()
    crawl_id = UUID(key)
    claimed = races = 0
    while pages := due(crawl_id, BlockedHosts(set(), set()), Allowance(IN_FLIGHT), cursor):
        won = len(claim(Snapshot, [page.key for page in pages], me))
        claimed += won
        races += len(pages) - won
    return claimed, races


def prepare_peer(path: str) -> None:
    with sqlite3.connect(path, timeout=30) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("DROP TABLE IF EXISTS task")
        database.execute("CREATE TABLE task (id INTEGER PRIMARY KEY, due REAL, owner TEXT)")
        database.execute("CREATE INDEX due ON task (due) WHERE owner IS NULL")
        database.executemany("INSERT INTO task (due) VALUES (?)", [(float(n),) for n in range(PAGES)])
    database.close()


def take_from_peer(path: str) -> tuple[int, int]:
    database = sqlite3.connect(path, timeout=30, isolation_level=None)
    database.execute("PRAGMA synchronous=FULL")
    statement = (
        "UPDATE task SET owner = ? WHERE id IN"
        " (SELECT id FROM task WHERE owner IS NULL ORDER BY due LIMIT 1) RETURNING id"
    )
    me, claimed = uuid4().hex, 0
    while database.execute(statement, [me]).fetchall():
        claimed += 1
    database.close()
    return claimed, 0
