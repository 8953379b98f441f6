"""What it costs that people look, and how soon they see.

A hundred streams of events, while a crawl of one or two pages a second runs: CPU of the web server beyond what it uses
with nobody there. Two hundred idle and sixty slow connections: how long another visitor waits for an answer. A page in
a real browser: from the commit of a change until it is painted, by the one clock of this machine.
"""

import http.client
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from archivebox.base_models.wakeups import wake_viewers
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.snapshot import Snapshot
from archivebox.crawls import control
from archivebox.crawls.crawl import Crawl
from benchmarks import trees
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.room import write_plugin
from benchmarks.serving import Serving, serving
from tests.webserver.browser import Browser

STREAMS = 100
WINDOW = 10.0
"""Seconds of one measurement of CPU."""
PAGES = 2_000
"""More than are archived meanwhile."""
IDLE, SLOW = 200, 60
ASKED = 20
"""Answers that are waited for, in a round."""
CHANGES = 10
"""Changes that are waited for, in a round; the pages of their crawl are ten times as many."""
HOOK = "#!/bin/bash\nsleep 2\n"
SEEN = """
window.seen = [];
new MutationObserver(() => requestAnimationFrame(() => {
  const counts = document.querySelector("[data-part^=counts-] .tally")?.textContent;
  if (counts) seen.push([Date.now() / 1000, counts]);
})).observe(document.querySelector(".head"), {childList: true});
"""
"""What the page shows of its counts after each change, and when that was painted."""


def run(rounds: int) -> list[Finding]:
    """The machine works for the crawl as well: the figures of a moment are worth little, their median is."""
    cookie = log_in()
    write_plugin("nap", {"on_Snapshot__55_nap.sh": HOOK})
    seeds = [Seed(f"https://nap{number % 50}.example/{number}") for number in range(PAGES)]
    running = create_crawl(seeds, CrawlRequest(config={"PLUGINS": ["nap"]}, hold=True), created_by=User.objects.get())
    with serving(DATA_FOLDER.root, WORKERS="1", PLUGINS='["nap"]') as server:
        slow = waits(server, rounds)
        shown = painted(server, cookie, rounds)
        control.resume(running)
        return [share_of_viewers(server, cookie, running, rounds), *slow, *shown]


def log_in() -> str:
    """The cookie of an administrator."""
    client = Client()
    client.force_login(User.objects.create_superuser("bench"))
    return client.cookies[settings.SESSION_COOKIE_NAME].value


# --- streams ------------------------------------------------------------------------------------------------------


def share_of_viewers(server: Serving, cookie: str, crawl: Crawl, rounds: int) -> Finding:
    finding = Finding("a hundred viewers of a running crawl, CPU of the server", "%", Bound.BEYOND, 2, [])
    finding.floor_name = "nobody there"
    web = server.web()

    def ours() -> None:
        with streams(server, cookie, crawl) as received:
            begun, done = received[0], pages_done(crawl)
            finding.ours.append(share(web))
            finding.notes["kB/s to each"] = (received[0] - begun) / STREAMS / WINDOW / 1000
            finding.notes["pages a second"] = (pages_done(crawl) - done) / WINDOW

    interleaved(rounds, lambda: finding.floor.append(share(web)), ours)
    return finding


def pages_done(crawl: Crawl) -> int:
    return crawl.snapshot_set.filter(status="sealed").count()


def share(pid: int) -> float:
    """Percent of one core that a process uses, over a window."""
    before, start = trees.cpu(pid), time.monotonic()
    time.sleep(WINDOW)
    return 100 * trees.cpu(pid).since(before).whole / (time.monotonic() - start)


@contextmanager
def streams(server: Serving, cookie: str, crawl: Crawl) -> Iterator[list[int]]:
    """Open streams that are read all the time; their first events are past. Gives the sum of bytes they got."""
    received, ended = [0], threading.Event()
    head = f"GET /events/?crawl={crawl.pk} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    head += f"Cookie: {settings.SESSION_COOKIE_NAME}={cookie}\r\n\r\n"
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        for _ in range(STREAMS):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 15))
            one.sendall(head.encode())
            selector.register(one, selectors.EVENT_READ, one.recv)

        def read() -> None:
            while not ended.is_set():
                for key, _ in selector.select(0.5):
                    received[0] += len(key.data(1 << 16))

        reader = threading.Thread(target=read)
        reader.start()
        time.sleep(3)
        try:
            yield received
        finally:
            ended.set()
            reader.join()


# --- other visitors -------------------------------------------------------------------------------------------------


def waits(server: Serving, rounds: int) -> list[Finding]:
    begun = b"POST /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n\r\nusername="
    return [wait_beside("idle", IDLE, b"", server, rounds), wait_beside("slow", SLOW, begun, server, rounds)]


def wait_beside(name: str, count: int, begun: bytes, server: Serving, rounds: int) -> Finding:
    """How long others wait beside connections that have sent ``begun`` and say nothing more."""
    finding = Finding(f"the next answer beside {count} {name} connections", "ms", Bound.MOST, 200, [], quantile=0.95)
    finding.floor_name = "nobody else there"

    def ours() -> None:
        with ExitStack() as stack:
            for _ in range(count):
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 15)).sendall(begun)
            finding.ours += answers(server)

    interleaved(rounds, lambda: finding.floor.extend(answers(server)), ours)
    return finding


def answers(server: Serving) -> list[float]:
    """Milliseconds until the log-in page is there, again and again."""
    times = []
    for _ in range(ASKED):
        start = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", "/login/")
        connection.getresponse().read()
        times.append((time.perf_counter() - start) * 1000)
        connection.close()
    return times


# --- a browser ------------------------------------------------------------------------------------------------------


def painted(server: Serving, cookie: str, rounds: int) -> list[Finding]:
    """Pages of a crawl that nobody runs are done, one after the other, at moments that no timer knows."""
    typical = Finding("from a commit until it is on screen", "ms", Bound.MOST, 300, [])
    worst = Finding("from a commit until it is on screen", "ms", Bound.MOST, 1000, typical.ours, quantile=1.0)
    seeds = [Seed(f"https://painted.example/{number}") for number in range(CHANGES * rounds)]
    crawl = create_crawl(seeds, CrawlRequest(hold=True), created_by=User.objects.get())
    with Browser() as browser:
        browser.set_cookie(server.url, settings.SESSION_COOKIE_NAME, cookie)
        browser.go(f"{server.url}/crawls/{crawl.pk}/")
        browser.value(SEEN)
        time.sleep(2)
        for done, key in enumerate(list(crawl.snapshot_set.values_list("pk", flat=True)), 1):
            time.sleep(0.3 + 0.7 * (done * 0.618 % 1))
            Snapshot.objects.filter(pk=key).update(status="sealed", retry_at=None)
            committed = time.time()
            wake_viewers()
            browser.wait_for(f"seen.some(([, counts]) => counts.includes('{done} done'))")
            moment = browser.value(f"seen.find(([, counts]) => counts.includes('{done} done'))[0]")
            typical.ours.append((moment - committed) * 1000)
    return [typical, worst]
