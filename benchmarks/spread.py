"""Crawls of many pages by a worker for each core, against one worker that has all tabs; and by what one bad page costs.

The floor of the first two is the same engine as ``WORKERS=1``, which by itself keeps every tab busy: more workers may
not be slower than that. The third has a page that never answers beside eight good ones: of those it is the time from
the first hook to the last seal, against the same eight alone.
"""

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db.models import Min

from archivebox.core.crawl_control.retry import retry_missing
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import forget_plugins
from archivebox.machine.process import Process
from benchmarks import page
from benchmarks.commands import local_site
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.room import CORES, Room, room

PLUGINS = [*page.PLUGINS, "wget", "parse_html_urls"]
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "localhost")
ANY_LOAD = {"CHROME_PAGELOAD_TIMEOUT": "15", "WGET_TIMEOUT": "15", "TIMEOUT": "30"}
"""How long the page that never answers is waited for."""
UNDER_WAY = 1.0
"""Seconds after which pages that are tried again have their tabs."""


def run(rounds: int) -> list[Finding]:
    with local_site() as site:
        return [
            workers("16 pages on 4 hosts", rounds, site, 16, HOSTS),
            workers("20 pages on one host", rounds, site, 20, HOSTS[:1]),
            beside_a_bad_one(rounds, site),
            beside_a_retry(rounds, site),
        ]


def workers(name: str, rounds: int, site: str, pages: int, hosts: Sequence[str]) -> Finding:
    finding = Finding(f"{name}, all workers", "s", Bound.RATIO, 1.05, [], floor_name="one worker")
    urls = fresh_urls(site, hosts)
    interleaved(
        rounds,
        lambda: finding.floor.append(seconds(list(itertools.islice(urls, pages)), WORKERS="1")),
        lambda: finding.ours.append(seconds(list(itertools.islice(urls, pages)), WORKERS=str(CORES))),
    )
    return finding


def beside_a_bad_one(rounds: int, site: str) -> Finding:
    finding = Finding("8 pages beside one that never answers", "s", Bound.RATIO, 1.2, [], floor_name="8 pages alone")
    urls = fresh_urls(site, HOSTS)
    bad = (f"{site}never?n={number}" for number in itertools.count())
    interleaved(
        rounds,
        lambda: finding.floor.append(seconds(list(itertools.islice(urls, 8)), **ANY_LOAD)),
        lambda: finding.ours.append(seconds([next(bad), *itertools.islice(urls, 8)], **ANY_LOAD)),
    )
    return finding


def beside_a_retry(rounds: int, site: str) -> Finding:
    """Seconds from an `add` to its page's first hook, while four pages that never answer are tried again."""
    finding = Finding("start of a new page beside pages tried again", "s", Bound.MOST, 1, [])
    urls = fresh_urls(site, HOSTS[:1])
    with environ({"CHROME_PAGELOAD_TIMEOUT": "5", "WGET_TIMEOUT": "5"}), room(PLUGINS, warm_up=0) as engine:
        bad = engine.begin([f"{site}never?again={number}" for number in range(4)])
        engine.wait(bad)
        for url in itertools.islice(urls, rounds):
            retry_missing(Snapshot.objects.filter(crawl=bad))
            time.sleep(UNDER_WAY)
            finding.ours.append(until_it_starts(engine, url))
            engine.wait(bad)
    return finding


def until_it_starts(engine: Room, url: str) -> float:
    crawl = engine.begin([url])
    engine.wait(crawl)
    pages = Snapshot.objects.filter(crawl=crawl).values_list("pk")
    hooks = Process.objects.filter(snapshot_id__in=pages, process_type="hook")
    first = hooks.aggregate(Min("started_at"))["started_at__min"]
    return float((first - crawl.created_at).total_seconds())


def fresh_urls(site: str, hosts: Sequence[str]) -> Iterator[str]:
    """Articles that were never asked for, host by host."""
    for number, host in enumerate(itertools.cycle(hosts)):
        yield f"{site.replace('127.0.0.1', host)}article?n={number}"


def seconds(urls: Sequence[str], **settings: str) -> float:
    """From the start of a crawl's first hook to the seal of its last good page, in an engine of its own."""
    with environ(settings), room(PLUGINS, warm_up=0) as engine:
        crawl = engine.begin(urls)
        engine.wait(crawl)
        seals = Snapshot.objects.filter(crawl=crawl).exclude(url__contains="/never")
        last = seals.order_by("-sealed_at").values_list("sealed_at", flat=True)[0]
        hooks = Process.objects.filter(crawl_id=crawl.pk).order_by("started_at").values_list("started_at", flat=True)
        if last is None or hooks[0] is None:
            raise LookupError("not every page was sealed")
        return float((last - hooks[0]).total_seconds())


@contextmanager
def environ(settings: dict[str, str]) -> Iterator[None]:
    """With these in the environment of the orchestrator that is started meanwhile."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    forget_plugins()  # and the environment with them
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        forget_plugins()
