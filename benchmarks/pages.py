"""Crawls of ten and of sixty pages with four outputs, against one process that has the same pages in two tabs.

Each from the start of its browser to its last page. Both make the same files; the floor has neither egress, recorder,
rows nor processes, and packs a picture while its tab has the next page, as ours does. What our own Python costs is the
CPU of the whole engine but that of Chromium, and memory the most that was seen of all, against the floor's Chromium
alone. These two are looked at during the sixty pages only: a look at the memory of all takes 0.04 s of CPU.
"""

import itertools
import queue
import selectors
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.db.models import Max, Min

from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.machine.process import Process
from archivebox.plugins.base.cdp import CDPConnection
from archivebox.plugins.chrome.relay import Relay
from benchmarks import page, trees
from benchmarks.commands import local_site
from benchmarks.finding import Bound, Finding
from benchmarks.room import Room, room

PLUGINS = ["title", "dom", "screenshot", "headers"]
TABS = 2
LAST = "screenshot.webp"
"""Of the files of a page the one that is written at the end."""
LOOK_EVERY = 0.25
"""Seconds between two looks at the CPU of a tree; at its memory, which takes longer, every fourth time."""


@dataclass(slots=True)
class Seen:
    """What a tree came to: MB, and CPU seconds of Chromium."""

    memory: float = 0.0
    browser: float = 0.0


def run(rounds: int) -> list[Finding]:
    numbers = itertools.count()
    ten, sixty = (
        Finding(f"{count} pages, four outputs", "s", Bound.RATIO, 1.15, [], floor_name="two tabs") for count in (10, 60)
    )
    python = Finding("CPU of our Python, a page", "s", Bound.MOST, 0.25, [])
    memory = Finding("memory of all, 60 pages", "MB", Bound.BEYOND, 200, [], floor_name="Chromium alone")
    with local_site() as site, room(PLUGINS, warm_up=0) as engine:

        def urls(count: int) -> list[str]:
            return [f"{site}article?n={number}" for number in itertools.islice(numbers, count)]

        in_a_crawl(engine, urls(4))  # the collection finds its programs
        for _ in range(rounds):
            by_floor(ten, urls(10))
            by_ours(ten, engine, urls(10))
            of_floor, of_ours = Seen(), Seen()
            by_floor(sixty, urls(60), of_floor)
            by_ours(sixty, engine, urls(60), of_ours)
            memory.floor.append(of_floor.memory)
            memory.ours.append(of_ours.memory)
            python.ours.append((sixty.ours_cpu[-1] - of_ours.browser) / 60)
    return [ten, sixty, python, memory]


# --- ours -----------------------------------------------------------------------------------------------------


def by_ours(finding: Finding, engine: Room, urls: Sequence[str], seen: Seen | None = None) -> None:
    before = trees.cpu(engine.root)
    with watched(engine.root, seen) if seen is not None else nullcontext():
        finding.ours.append(in_a_crawl(engine, urls))
    finding.ours_cpu.append(trees.cpu(engine.root).since(before).whole)


def in_a_crawl(engine: Room, urls: Sequence[str]) -> float:
    """Seconds from the start of the first hook to the seal of the last page; LookupError if an output is missing."""
    crawl = engine.begin(urls)
    engine.wait(crawl)
    made = ArchiveResult.objects.filter(snapshot__crawl=crawl, plugin__in=PLUGINS, status="succeeded").count()
    if made != len(urls) * len(PLUGINS):
        raise LookupError(f"{len(urls)} pages have {made} outputs")
    last = Snapshot.objects.filter(crawl=crawl).aggregate(Max("sealed_at"))["sealed_at__max"]
    first = Process.objects.filter(crawl_id=crawl.pk).aggregate(Min("started_at"))["started_at__min"]
    return float((last - first).total_seconds())


# --- the floor ------------------------------------------------------------------------------------------------


def by_floor(finding: Finding, urls: Sequence[str], seen: Seen | None = None) -> None:
    before, start = time.process_time(), time.perf_counter()
    with page.browser() as browser, watched(browser.pid, seen) if seen is not None else nullcontext():
        in_two_tabs(browser, urls)
        finding.floor.append(time.perf_counter() - start)
        finding.floor_cpu.append(time.process_time() - before + trees.cpu(browser.pid).whole)


def in_two_tabs(browser: page.Chromium, urls: Sequence[str]) -> None:
    agent = page.agent_of(browser.connection)
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for url in urls:
        waiting.put(url)
    with tempfile.TemporaryDirectory(prefix="bench-pages-") as folder, relayed(browser.pipe, folder) as address:
        with ThreadPoolExecutor(max_workers=1) as keeper:

            def take(files: dict[str, bytes]) -> None:
                keeper.submit(keep, Path(folder), files)

            work = partial(work_off, waiting, address, agent, take)
            tabs = [threading.Thread(target=work) for _ in range(TABS)]
            for tab in tabs:
                tab.start()
            for tab in tabs:
                tab.join()
        if (made := len(list(Path(folder).glob(f"*/{LAST}")))) != len(urls):
            raise LookupError(f"of {len(urls)} pages the floor made {made}")


def work_off(
    waiting: "queue.SimpleQueue[str]", address: str, agent: str, take: Callable[[dict[str, bytes]], None]
) -> None:
    """Take page after page, in a tab of its own each, and hand on what came of them."""
    connection = CDPConnection.open(address)
    with suppress(queue.Empty):
        while url := waiting.get_nowait():
            with page.open_tab(connection, agent) as tab:
                files = page.four_outputs(tab, url)
            take(files)
    connection.close()


def keep(folder: Path, files: dict[str, bytes]) -> None:
    place = Path(tempfile.mkdtemp(dir=folder))
    for name, content in page.drawn(files).items():
        (place / name).write_bytes(content)


@contextmanager
def relayed(pipe: socket.socket, folder: str) -> Iterator[str]:
    """A place at which several threads may speak to one browser."""
    with selectors.DefaultSelector() as selector:
        relay = Relay(pipe, folder, selector)

        def serve() -> None:
            for key, mask in selector.select(LOOK_EVERY):
                key.data(mask)

        with repeated(serve):
            yield relay.socket


# --- what both take -------------------------------------------------------------------------------------------


@contextmanager
def watched(root: int, seen: Seen) -> Iterator[None]:
    """Have in ``seen`` what the tree of a process comes to meanwhile."""
    looks = itertools.count()

    def look() -> None:
        for pid in trees.members(root):
            if trees.name(pid) == "chromium":
                seen.browser = max(seen.browser, trees.cpu(pid).whole)  # its last are reaped by nobody we see
                break
        if next(looks) % 4 == 0:
            seen.memory = max(seen.memory, trees.proportional_set_size(root))
        time.sleep(LOOK_EVERY)

    with repeated(look):
        yield


@contextmanager
def repeated(action: Callable[[], None]) -> Iterator[None]:
    """Do it again and again in a thread."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            action()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
