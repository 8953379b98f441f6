"""How long a worker takes to find the next page in a million rows, of which one crawl has 900,000 and one host 899,000.

``due.due`` is asked once per open crawl by every look of every worker, so it may not depend on how much waits.
The peer is the plain way: the longest waiting rows of the crawl, less those of blocked hosts.
"""

import itertools
import time
from collections.abc import Callable

from django.utils import timezone

from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.workers.queue.due import Allowance, Cursor, due
from archivebox.workers.queue.hosts import BlockedHosts
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.queue_rows import crawl, fill, settle

CALLS = 200
BLOCKED = "blocked000000.example"


def run(rounds: int) -> list[Finding]:
    crawls = [crawl() for _ in range(100)]
    big, others = crawls[0], crawls[1:]
    fill(big, 1, 899_000, 1, "blocked")
    fill(big, 1_000_000, 1_000, 1_000, "free")
    for number, small in enumerate(others):
        fill(small, 2_000_000 + number * 1_010, 1_010, 10)
    settle(crawls)
    turns = itertools.cycle(others)
    return [
        measure(
            "due, 900,000 rows, 899,000 of a blocked host", rounds, lambda: big, BlockedHosts({BLOCKED}, {BLOCKED})
        ),
        measure("due, 900,000 rows, none blocked", rounds, lambda: big, BlockedHosts(set(), set())),
        measure("due, the other crawls in turn", rounds, lambda: next(turns), BlockedHosts({BLOCKED}, {BLOCKED})),
    ]


def measure(name: str, rounds: int, which: Callable[[], Crawl], blocked: BlockedHosts) -> Finding:
    finding = Finding(name, "ms", Bound.MOST, 0.1, [], floor_name="by (crawl, retry_at)")
    cursor = Cursor()

    def ours() -> None:
        for _ in range(CALLS):
            key = which().pk
            start = time.perf_counter()
            found = due(key, blocked, Allowance(1), cursor)
            finding.ours.append((time.perf_counter() - start) * 1000)
            if not found:
                raise LookupError("nothing was due")

    def plain() -> None:
        rows = Snapshot.objects.filter(crawl=which(), owner__isnull=True, retry_at__lte=timezone.now())
        rows = rows.exclude(domain__in=blocked.for_fresh).order_by("retry_at")
        start = time.perf_counter()
        list(rows.values_list("pk", flat=True)[:1])
        finding.floor.append((time.perf_counter() - start) * 1000)

    interleaved(rounds, plain, ours)
    return finding
