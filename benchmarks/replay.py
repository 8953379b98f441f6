"""Pages of the local site replayed from what was recorded of them: beside the picture that was kept, and in time.

Each is shown as the app shows it, in a frame of its own origin: static pages without their scripts, those that live by
them with.
"""

import asyncio
import base64
import hashlib
import http.client
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from uuid import UUID

from granian.constants import HTTPModes, Interfaces
from granian.server.embed import Server

from archivebox.base_models.rows import new_id
from archivebox.plugins.base.responses import Response, read_index
from archivebox.plugins.chrome.likeness import packed_alike, read_picture, tiles_alike
from archivebox.replay import addresses, capability
from archivebox.replay.addresses import ReplayContext, sandbox
from archivebox.replay.capability import Purpose
from archivebox.replay.folders import PageFiles
from archivebox.replay.index import indices
from archivebox.replay.listener import EndedError, Listener
from archivebox.replay.scripts.listener import ViewListener
from benchmarks.finding import Bound, Finding
from tests.plugins_bundled.browser.chain import NAVIGATE, SETTLE, Crawl
from tests.site.serve import Site
from tests.webserver.browser import Browser
from tests.webserver.server import free_ports

STATIC = (
    "/", "/article", "/unicode", "/colour", "/tall", "/iframe", "/frame", "/post", "/csp", "/title-entities", "/folded",
    "/own-scroller", "/image-only", "/redirect", "/404", "/meta-refresh", "/tree/", "/tree/c/c3", "/bookmarks.html",
    "/svg.svg", "/page.txt", "/links.md", "/data.json", "/feed.rss", "/broken.html",
    "/bad-encoding", "/wrong-type", "/no-type", "/big-dom", "/long-print", "/known/encyclopedia-en-1",
    "/known/news-zh-1", "/known/blog-ar-1", "/pipermail/local/2024-January/thread.html",
)  # fmt: skip
LIVING = ("/shadow", "/lazy", "/video", "/preloader", "/playlist")
"""What of these is seen is their scripts' work, or moves."""
OTHERS = ("/script-built", "/network", "/cookie-banner")
"""Of these only what was captured is asked for again: scripts make them of what they fetch, which none does here, or
the picture is never the same twice."""
PICTURE = "screenshot/on_Snapshot__51_screenshot.py"
PACK = "warc/on_Snapshot__92_warc.py"
CHANGED = ("text/html", "application/xhtml+xml", "text/css")
"""What comes with other bytes than were recorded."""
FLAGS = ("--disable-site-isolation-trials", "--force-color-profile=srgb")
"""As pages are captured; a frame of another origin is then seen by the same eyes as the page around it."""


@dataclass(frozen=True)
class Recording:
    """One page: its URL, and its folder."""

    key: UUID
    url: str
    folder: Path

    @property
    def shown(self) -> str:
        """The URL whose replay is shown."""
        return indices.of(self.folder).page(self.url, (self.folder / "chrome" / "final_url.txt").read_text())


def run(rounds: int) -> list[Finding]:
    found = Finding("captured answers that replay gives", "%", Bound.LEAST, 99, [])
    asked = Finding("what replayed pages ask for and get", "%", Bound.LEAST, 99, [], quantile=0.01)
    still = Finding("tiles unlike the kept picture, static pages", "%", Bound.MOST, 1, [], quantile=1.0)
    living = Finding("the same, pages that live by scripts, which run", "%", Bound.MOST, 1, [], quantile=1.0)
    first = Finding("first byte of a replayed page", "s", Bound.MOST, 0.05, [], quantile=0.95)
    with tempfile.TemporaryDirectory() as folder, Site() as site, Browser(*FLAGS) as browser:
        with Crawl(Path(folder), CHROME_QUIET_TIME="0.2") as crawl:
            paths = enumerate(STATIC + LIVING + OTHERS)
            recordings = {path: record(crawl, number, site.url_for(path)) for number, path in paths}
        with listener({one.key: one.folder for one in recordings.values()}) as port:
            for one in recordings.values():
                found.ours.append(share_found(one, port))
                first.ours.extend(first_byte(one, port) for _ in range(rounds))
            frames = Frames(browser, site.url_for("/colour"), port)
            for path in STATIC:
                compare(frames, recordings[path], path, still, asked)
            for path in LIVING:
                compare(frames, recordings[path], path, living, asked, scripts=True)
    return [found, asked, still, living, first]


def compare(
    frames: "Frames", one: Recording, path: str, looks: Finding, asked: Finding, *, scripts: bool = False
) -> None:
    picture = str(next((one.folder / "screenshot").glob("screenshot.*")))
    kept = read_picture(picture)
    shown = packed_alike(picture, read_picture(frames.show(one, kept.size, scripts=scripts)))
    same, counted = tiles_alike(kept, shown)
    looks.ours.append(100 * (counted - same) / max(1, counted))
    looks.notes[path] = looks.ours[-1]
    wanted = frames.wanted(one)
    lacking = [url for url in wanted if indices.of(one.folder).find(url) is None]
    asked.ours.append(100 - 100 * len(lacking) / len(wanted))
    asked.notes |= {path: " ".join(lacking)} if lacking else {}


def record(crawl: Crawl, number: int, url: str) -> Recording:
    snapshot = crawl.snapshot(str(number), url)
    recorder = snapshot.record()
    snapshot.run(NAVIGATE)
    snapshot.run(SETTLE)
    snapshot.run(PICTURE)
    recorder.stop()
    snapshot.close()
    snapshot.run(PACK)
    return Recording(new_id(), url, snapshot.folder)


def no_view(*_: object) -> NoReturn:
    raise EndedError


@contextmanager
def listener(folders: dict[UUID, Path]) -> Iterator[int]:
    """The replay listener as the server has it, on a port of its own."""
    port, loop = free_ports(), asyncio.new_event_loop()
    views = ViewListener(no_view, no_view, no_view)
    files = {snapshot: PageFiles(folder) for snapshot, folder in folders.items()}
    application = Listener(lambda right: files.get(right.snapshot_id), lambda _: True, views)
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


def place_of(one: Recording, purpose: Purpose = Purpose.FILES) -> ReplayContext:
    return ReplayContext(capability.grant(one.key, "public", purpose), "http://127.0.0.1:8000", "20261122090000")


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


class Frames:
    """A browser in which recorded pages are shown as in the app: in a frame, whose origin is the snapshot's own."""

    def __init__(self, browser: Browser, around: str, port: int) -> None:
        self._browser, self._around, self._port = browser, around, port
        browser.tab.call("Network.enable")

    def show(self, one: Recording, size: tuple[int, int], *, scripts: bool) -> bytes:
        """The picture of a page in a frame of this size."""
        self._browser.size(*size)
        self._browser.go(self._around)
        place = place_of(one, Purpose.SCRIPTS if scripts else Purpose.FILES)
        address = f"http://{one.key}.localhost:{self._port}{place.address(one.shown)}"
        self._browser.value(FRAME % (sandbox(own=True, scripts=scripts), address))
        time.sleep(2 if scripts else 0.3)  # pictures are decoded and painted after the load, scripts go on after it
        answer = self._browser.tab.call("Page.captureScreenshot", {"format": "png"})
        return base64.b64decode(answer["data"])

    def wanted(self, one: Recording) -> set[str]:
        """The recorded URLs that the page has asked for since it was shown."""
        origin, urls = f"http://{one.key}.localhost:{self._port}/", set()
        while event := self._browser.tab.next_event(0.05):
            if event.method == "Network.requestWillBeSent" and event.params["request"]["url"].startswith(origin):
                token, _, path = event.params["request"]["url"].removeprefix(origin).partition("/")
                urls.add(addresses.read(token, path)[1])
        return urls


FRAME = """new Promise(shown => {
  document.documentElement.innerHTML = "<body style='margin: 0; background: #fff'></body>";
  const frame = document.createElement("iframe");
  frame.style = "border: 0; display: block; width: 100vw; height: 100vh";
  frame.sandbox = "%s";
  frame.onload = shown;
  frame.src = "%s";
  document.body.append(frame);
})"""
