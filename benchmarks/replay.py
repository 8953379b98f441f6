"""Pages of the local site replayed from what was recorded of them: against the live page, pixel by pixel, and in time.

Static pages: their scripts run while they are looked at live, and are off in the replay, as they are for people.
"""

import asyncio
import hashlib
import http.client
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from granian.constants import HTTPModes, Interfaces
from granian.server.embed import Server
from PIL import Image, ImageChops

from archivebox.base_models.rows import new_id
from archivebox.plugins.base.responses import Response, read_index
from archivebox.replay import capability
from archivebox.replay.addresses import Place
from archivebox.replay.listener import Listener
from benchmarks.finding import Bound, Finding
from tests.plugins_bundled.browser.chain import NAVIGATE, SETTLE, Crawl
from tests.site.serve import Site
from tests.webserver.browser import Browser
from tests.webserver.server import free_ports

STATIC = (
    "/article", "/unicode", "/colour", "/tall", "/iframe", "/frame", "/post", "/csp", "/title-entities", "/folded",
    "/own-scroller", "/image-only", "/redirect", "/404", "/bookmarks.html", "/svg.svg", "/page.txt", "/image.png",
    "/known/encyclopedia-en-1", "/known/news-zh-1", "/pipermail/local/2024-January/thread.html",
)  # fmt: skip
MOVING = ("/video", "/lazy", "/network", "/cookie-banner", "/spa/")
"""Of these only what was captured is asked for again: their pictures are their scripts' work."""
PACK = "warc/on_Snapshot__92_warc.py"
CHANGED = ("text/html", "application/xhtml+xml", "text/css")
"""What comes with other bytes than were recorded."""


@dataclass(frozen=True)
class Recording:
    """One page: its URL, and its folder."""

    key: UUID
    url: str
    folder: Path


def run(rounds: int) -> list[Finding]:
    found = Finding("captured answers that replay gives", "%", Bound.LEAST, 99, [])
    differing = Finding("pixels that differ, static pages", "%", Bound.MOST, 1, [], quantile=1.0)
    first = Finding("first byte of a replayed page", "s", Bound.MOST, 0.05, [], quantile=0.95)
    with tempfile.TemporaryDirectory() as folder, Site() as site, Browser() as browser:
        with Crawl(Path(folder), CHROME_QUIET_TIME="0.2") as crawl:
            recordings = [record(crawl, number, site.url_for(path)) for number, path in enumerate(STATIC + MOVING)]
        browser.size(1280, 1600)
        with listener({one.key: one.folder for one in recordings}) as port:
            for one in recordings:
                found.ours.append(share_found(one, port))
                first.ours.extend(first_byte(one, port) for _ in range(rounds))
            for one in recordings[: len(STATIC)]:
                share = difference(browser, one, port, Path(folder))
                differing.ours.append(share)
                if share:
                    differing.notes[one.url] = share
    return [found, differing, first]


def record(crawl: Crawl, number: int, url: str) -> Recording:
    snapshot = crawl.snapshot(str(number), url)
    recorder = snapshot.record()
    snapshot.run(NAVIGATE)
    snapshot.run(SETTLE)
    recorder.stop()
    snapshot.close()
    snapshot.run(PACK)
    return Recording(new_id(), url, snapshot.folder)


@contextmanager
def listener(folders: dict[UUID, Path]) -> Iterator[int]:
    """The replay listener as the server has it, on a port of its own."""
    port, loop = free_ports(), asyncio.new_event_loop()
    application = Listener(lambda right: folders.get(right.snapshot_id), lambda _: True)
    server = Server(
        application, address="127.0.0.1", port=port, interface=Interfaces.RSGI, http=HTTPModes.http1, log_enabled=False
    )
    serving = threading.Thread(target=loop.run_until_complete, args=(server.serve(),))
    serving.start()
    wait_until_open(port)
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(server.stop)
        serving.join()
        loop.close()


def wait_until_open(port: int) -> None:
    for _ in range(100):
        try:
            ask(port, "/", "localhost")
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the listener never answered")


def ask(port: int, path: str, host: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Host": f"{host}:{port}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def place_of(one: Recording) -> Place:
    return Place(capability.grant(one.key, "public"), "http://127.0.0.1:8000", "20261122090000")


def share_found(one: Recording, port: int) -> float:
    """Of what a GET got, how much comes again: with its status, and with its bytes where they are not to be changed."""
    place = place_of(one)
    captured = {it.url: it for it in map(Response, read_index(str(one.folder / "responses"))) if is_answer(it)}
    good = sum(is_same(it, *ask(port, place.address(url), f"{one.key}.localhost")) for url, it in captured.items())
    return 100 * good / len(captured)


def is_answer(response: Response) -> bool:
    return response.method == "GET" and response.status not in {0, 206, 304}


def is_same(response: Response, status: int, body: bytes) -> bool:
    if response.redirected_to:
        return status == 302
    same = response.mime in CHANGED or hashlib.sha256(body).hexdigest() == (
        response.sha256 or hashlib.sha256().hexdigest()
    )
    return status == response.status and same


def first_byte(one: Recording, port: int) -> float:
    path = place_of(one).address(one.url)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.connect()
    start = time.perf_counter()
    connection.request("GET", path, headers={"Host": f"{one.key}.localhost:{port}"})
    connection.getresponse()
    seconds = time.perf_counter() - start
    connection.close()
    return seconds


def difference(browser: Browser, one: Recording, port: int, folder: Path) -> float:
    """Per cent of the pixels of the whole page that are not the same, live and replayed."""
    addresses = (one.url, f"http://{one.key}.localhost:{port}{place_of(one).address(one.url)}")
    live, replayed = (picture(browser, address, folder / f"{number}.png") for number, address in enumerate(addresses))
    if live.size != replayed.size:
        return 100.0
    bands = ImageChops.difference(live, replayed).split()
    largest = bands[0]
    for band in bands[1:]:
        largest = ImageChops.lighter(largest, band)
    return 100 * (1 - largest.histogram()[0] / (live.width * live.height))


def picture(browser: Browser, address: str, path: Path) -> Image.Image:
    browser.go(address)
    time.sleep(0.3)  # pictures are decoded and painted after the load
    browser.picture(path, whole=True)
    with Image.open(path) as image:
        return image.convert("RGB")
