"""Eight good pages beside pages of slow hosts, against the same eight alone: from `add` to the last seal of these.

The engine is warm, and both kinds are one crawl. What is left of it afterwards is cancelled.
"""

import itertools
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from archivebox.core.snapshot import Snapshot
from archivebox.crawls.control import cancel
from archivebox.crawls.crawl import Crawl
from benchmarks import spread
from benchmarks.commands import REPOSITORY, local_site
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.room import Room, room
from benchmarks.slow_origin import HOSTS

GOOD = 8
PLUGINS = [*spread.PLUGINS, "staticfile"]
SETTINGS = {"CHROME_PAGELOAD_TIMEOUT": "30", "WGET_TIMEOUT": "30", "TIMEOUT": "60"}
LONGEST = 120.0
CASES = {
    "10 pages of a byte a second": ("drip", 10),
    "10 pages that never answer": ("never", 10),
    "2 downloads of 1 GB at 20 MB/s": ("file", 2),
}


def run(rounds: int) -> list[Finding]:
    with local_site() as site, slow_origin() as port, spread.environ(SETTINGS), room(PLUGINS) as engine:
        urls = spread.fresh_urls(site, spread.HOSTS)
        seconds(engine, list(itertools.islice(urls, GOOD)))  # the programs are found
        return [case(engine, name, rounds, urls, port) for name in CASES]


def case(engine: Room, name: str, rounds: int, urls: Iterator[str], port: int) -> Finding:
    path, count = CASES[name]
    finding = Finding(f"8 pages beside {name}", "s", Bound.RATIO, 1.2, [], floor_name="8 pages alone")
    numbers = itertools.count()

    def beside() -> float:
        slow = [f"http://{HOSTS[n % len(HOSTS)]}:{port}/{path}?n={next(numbers)}" for n in range(count)]
        return seconds(engine, list(itertools.islice(urls, GOOD)), slow)

    interleaved(
        rounds,
        lambda: finding.floor.append(seconds(engine, list(itertools.islice(urls, GOOD)))),
        lambda: finding.ours.append(beside()),
    )
    return finding


def seconds(engine: Room, good: Sequence[str], slow: Sequence[str] = ()) -> float:
    """From the call that creates the crawl to the seal of the last good page."""
    mixed = [url for pair in itertools.zip_longest(slow, good) for url in pair if url is not None]
    start = time.time()
    crawl = engine.begin(mixed)
    pages = Snapshot.objects.filter(crawl=crawl)
    good_ones = pages.filter(url__in=good)
    engine.watch.wait(lambda: good_ones.filter(status="sealed").count() == len(good) or time.time() > start + LONGEST)
    sealed = good_ones.order_by("-sealed_at").values_list("sealed_at", flat=True)
    if len(sealed) != len(good) or sealed[0] is None:
        raise LookupError("not every good page was sealed")
    cancel(Crawl.objects.get(pk=crawl.pk))
    engine.watch.wait(lambda: not pages.filter(owner__isnull=False).exists())
    return float(sealed[0].timestamp() - start)


@contextmanager
def slow_origin() -> Iterator[int]:
    """The port of one, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.slow_origin"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as origin:
        try:
            if origin.stdout is None or not (port := origin.stdout.readline().strip()):
                raise ChildProcessError("the slow origin did not start")
            yield int(port)
        finally:
            origin.terminate()
