"""Seconds per page of a crawl that is under way, one page at a time, against the same work in one Python process.

Ours: eleven plugins, each hook a process with its row, result, logs and folder, on a browser that is up. Counted is
from the seal of one page to the seal of the next. The floor has one connection to a Chromium with the same flags, and
does without processes, rows and waiting for anybody what those hooks do: a tab, the navigation until the page has been
quiet as long as ours waits, response headers, title, DOM, screenshot (small and packed as ours are), PDF, icon, text,
links, and a hash of each file.
"""

import base64
import hashlib
import itertools
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from archivebox.contract.discovery import BUNDLED
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.plugins.base.cdp import CDPConnection
from archivebox.plugins.base.html_text import html_to_text
from archivebox.plugins.base.settings import Settings
from archivebox.plugins.chrome.launch import PIPE, browser_pipe, find_chromium, flags
from archivebox.plugins.screenshot.drawn import opened, packed, thumbnail
from benchmarks.commands import local_site
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.room import Room, room

PLUGINS = [
    "chrome",
    "responses",
    "title",
    "headers",
    "dom",
    "screenshot",
    "pdf",
    "favicon",
    "htmltotext",
    "parse_dom_outlinks",
]
PLUGINS += ["hashes"]
PAGES = 6
"""Of each way in a round, after two that do not count: they have the browser's start and its cold caches."""
WARM_UP = 2
QUIET = 0.25
"""Seconds without a request after which a page counts as settled: CHROME_QUIET_TIME."""
PATIENCE = 30.0
PICTURE = "screenshot.png"
TITLE = "document.title"
HTML = "new XMLSerializer().serializeToString(document.doctype) + document.documentElement.outerHTML"
LINKS = "[...new Set([...document.querySelectorAll('a[href], area[href]')].map(link => link.href.split('#')[0]))]"
ICON = "document.querySelector('link[rel~=icon]')?.href || new URL('/favicon.ico', location.href).href"


def run(rounds: int) -> list[Finding]:
    finding = Finding("page in a warm crawl", "s", Bound.RATIO, 1.3, [], floor_name="one process")
    numbers = itertools.count()
    with local_site() as site, room(PLUGINS, warm_up=0) as engine:

        def urls() -> list[str]:
            return [f"{site}article?n={next(numbers)}" for _ in range(WARM_UP + PAGES)]

        interleaved(
            rounds,
            lambda: finding.floor.extend(in_one_process(urls())),
            lambda: finding.ours.extend(in_a_crawl(engine, urls())),
        )
    return [finding]


# --- ours -----------------------------------------------------------------------------------------------------


def in_a_crawl(engine: Room, urls: list[str]) -> list[float]:
    """Seconds of each page that counts; LookupError if a hook of one did not succeed."""
    crawl = engine.begin(urls)
    engine.wait(crawl)
    results = ArchiveResult.objects.filter(snapshot__crawl=crawl)
    bad = results.exclude(status="succeeded")
    if said := list(bad.values_list("plugin", "status", "reason", "output_str")[:5]):
        raise LookupError(f"not every hook succeeded: {said}")
    seals = Snapshot.objects.filter(crawl=crawl).order_by("sealed_at").values_list("sealed_at", flat=True)
    moments = [seal.timestamp() for seal in seals if seal is not None]
    return [later - earlier for earlier, later in itertools.pairwise(moments)][WARM_UP - 1 :]


# --- the floor ------------------------------------------------------------------------------------------------


def in_one_process(urls: list[str]) -> list[float]:
    seconds = []
    with browser() as (connection, _, _), tempfile.TemporaryDirectory(prefix="bench-pages-") as folder:
        agent = agent_of(connection)
        for number, url in enumerate(urls):
            place = Path(folder) / str(number)
            place.mkdir()
            start = time.perf_counter()
            archive(connection, url, place, agent)
            seconds.append(time.perf_counter() - start)
    return seconds[WARM_UP:]


class Chromium(NamedTuple):
    """A browser, and the pipe to it."""

    connection: CDPConnection
    pipe: socket.socket
    pid: int


@contextmanager
def browser() -> Iterator["Chromium"]:
    """A Chromium of its own, started as the chrome plugin starts it."""
    settings = Settings(folder=str(BUNDLED / "chrome"))
    with tempfile.TemporaryDirectory(prefix="bench-chromium-", ignore_cleanup_errors=True) as folder:
        command = [find_chromium(settings), *flags(settings, f"{folder}/profile")]
        env = {**os.environ, "TMPDIR": folder}
        with browser_pipe() as pipe:
            popen = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, pass_fds=PIPE)
        connection = CDPConnection(pipe)
        try:
            connection.call("Browser.getVersion", timeout=PATIENCE)
            yield Chromium(connection, pipe, popen.pid)
        finally:
            pipe.setblocking(True)
            connection.send("Browser.close")
            popen.wait(PATIENCE)


def agent_of(connection: CDPConnection) -> str:
    return str(connection.call("Browser.getVersion")["userAgent"]).replace("HeadlessChrome", "Chrome")


def archive(connection: CDPConnection, url: str, folder: Path, agent: str) -> None:
    """All that the plugins keep of a page, in files of ``folder``."""
    with open_tab(connection, agent) as tab:
        files = everything(tab, url)
    if lacking := [name for name, content in files.items() if not content]:
        raise LookupError(f"nothing came of {', '.join(lacking)}")
    for name, content in files.items():
        (folder / name).write_bytes(content)
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    (folder / "hashes.json").write_text(json.dumps(hashes, indent=1))


@contextmanager
def open_tab(connection: CDPConnection, agent: str) -> Iterator["Tab"]:
    target = connection.call("Target.createTarget", {"url": "about:blank", "newWindow": True})["targetId"]
    session = connection.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
    tab = Tab(connection, target, session)
    for method, params in (
        ("Page.enable", {}),
        ("Page.setLifecycleEventsEnabled", {"enabled": True}),
        ("Network.enable", {}),
        ("Network.setUserAgentOverride", {"userAgent": agent}),
        ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
    ):
        tab.call(method, params)
    yield tab
    connection.call("Target.closeTarget", {"targetId": target})


def four_outputs(tab: "Tab", url: str) -> dict[str, bytes]:
    """Headers, DOM, title, and the screenshot as the browser hands it over: see :func:`drawn`."""
    headers = tab.navigate(url)
    picture = tab.call("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})["data"]
    return {
        PICTURE: base64.b64decode(picture),
        "output.html": tab.evaluate(HTML).encode(),
        "title.txt": tab.evaluate(TITLE).encode(),
        "headers.json": json.dumps(headers, indent=2).encode(),
    }


def drawn(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with the screenshot as the plugin keeps it, which needs no tab any more."""
    with opened(files[PICTURE]) as view:
        made = {"thumbnail.webp": thumbnail(view)}
        webp = packed(files[PICTURE], view)
    if webp is None:
        return files | made
    return {name: content for name, content in files.items() if name != PICTURE} | made | {"screenshot.webp": webp}


def everything(tab: "Tab", url: str) -> dict[str, bytes]:
    files = drawn(four_outputs(tab, url))
    paper = tab.call("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})["data"]
    return files | {
        "output.pdf": base64.b64decode(paper),
        "favicon": tab.fetch(tab.evaluate(ICON)),
        "htmltotext.txt": html_to_text(files["output.html"].decode()).encode(),
        "urls.jsonl": "".join(json.dumps({"url": link}) + "\n" for link in tab.evaluate(LINKS)).encode(),
    }


class Tab:
    """One page over the browser's own connection."""

    def __init__(self, connection: CDPConnection, target: str, session: str) -> None:
        self._connection, self._target, self._session = connection, target, session

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self._connection.call(method, params, session=self._session, timeout=PATIENCE)

    def evaluate(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True})["result"]["value"]

    def navigate(self, url: str) -> dict[str, str]:
        """Go there and wait for load and quiet; the headers of the page's own answer."""
        self.drain()
        loader = self.call("Page.navigate", {"url": url})["loaderId"]
        headers: dict[str, str] = {}
        open_requests: set[str] = set()
        loaded, busy_at = False, time.monotonic()
        while not loaded or open_requests or time.monotonic() - busy_at < QUIET:
            left = QUIET - (time.monotonic() - busy_at) if loaded and not open_requests else PATIENCE
            event = self._connection.next_event(max(left, 0.001))
            if event is None or event.session != self._session:
                continue
            params = event.params
            if event.method == "Page.lifecycleEvent":
                loaded = loaded or (params["name"] == "load" and params["loaderId"] == loader)
                continue
            if event.method == "Network.requestWillBeSent":
                open_requests.add(params["requestId"])
            elif event.method in ("Network.loadingFinished", "Network.loadingFailed"):
                open_requests.discard(params["requestId"])
            elif event.method == "Network.responseReceived" and params["requestId"] == loader:
                headers = params["response"]["headers"]
                continue
            elif event.method != "Page.frameNavigated":
                continue
            busy_at = time.monotonic()
        return headers

    def drain(self) -> None:
        """Let go of what the tabs before have told."""
        while self._connection.pending:
            self._connection.next_event(0)

    def fetch(self, url: str) -> bytes:
        options = {"disableCache": False, "includeCredentials": True}
        asked = {"frameId": self._target, "url": url, "options": options}
        handle = self.call("Network.loadNetworkResource", asked)["resource"]["stream"]
        data = b""
        while True:
            part = self.call("IO.read", {"handle": handle})
            data += base64.b64decode(part["data"]) if part.get("base64Encoded") else part["data"].encode()
            if part["eof"]:
                self.call("IO.close", {"handle": handle})
                return data
