"""What the way out costs: pages and bytes through the proxy, against the same browser without it."""

import asyncio
import multiprocessing
import socket
import tempfile
import time
from pathlib import Path

import psutil

from archivebox.lib.egress import ConnectionLog, ConnectionPolicy, Dialer, DialRules, ProxyListener
from archivebox.lib.networks import NetworkRules, OpenedNetworks
from benchmarks.finding import Bound, Finding, interleaved
from tests.site.serve import Site
from tests.webserver.browser import Browser

LOADS = 4
"""Of each way in a round."""
MEGABYTES = 40
PICTURES = (
    "Promise.all([...Array(60).keys()].map(n => fetch(`/image.png?n=${n}-${Math.random()}`).then(r => r.blob())))"
)
BYTES = f"fetch('/huge.bin?mb={MEGABYTES}').then(async r => {{for await (const part of r.body); }})"


def run(rounds: int) -> list[Finding]:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    door = multiprocessing.get_context("fork").Process(target=_serve, args=(listener,), daemon=True)
    door.start()
    crawl_port = (f"--proxy-server=socks5://127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>")
    try:
        with Site() as site, Browser() as direct, Browser(*crawl_port) as ours:
            return _compare(rounds, site, direct, ours, psutil.Process(door.pid))
    finally:
        door.terminate()
        door.join()


def _compare(rounds: int, site: Site, direct: Browser, ours: Browser, door: psutil.Process) -> list[Finding]:
    page = Finding("load of a page", "s", Bound.RATIO, 1.05, [], floor_name="without")
    pictures = Finding("60 requests at once", "s", Bound.RATIO, 1.25, [], floor_name="without")
    transfer = Finding(f"{MEGABYTES} MB", "s", Bound.RATIO, 1.5, [], floor_name="without")
    memory = Finding("growth of the proxy's memory", "MB", Bound.MOST, 5, [])

    def measure(browser: Browser, *, is_ours: bool) -> None:
        for _ in range(LOADS):
            _series(page, is_ours=is_ours).append(_load(browser, site.url_for("/article")))
        _series(pictures, is_ours=is_ours).append(_timed(browser, PICTURES))
        _series(transfer, is_ours=is_ours).append(_timed(browser, BYTES))

    for browser in (direct, ours):
        browser.tab.call("Network.enable")
        browser.tab.call("Network.setCacheDisabled", {"cacheDisabled": True})
        _load(browser, site.url_for("/article"))
        _timed(browser, BYTES)
    before = door.memory_info().rss
    interleaved(rounds, lambda: measure(direct, is_ours=False), lambda: measure(ours, is_ours=True))
    memory.ours.append((door.memory_info().rss - before) / 1e6)
    page.notes["CPU of the proxy, all in all, s"] = sum(door.cpu_times()[:2])
    return [page, pictures, transfer, memory]


def _series(finding: Finding, *, is_ours: bool) -> list[float]:
    return finding.ours if is_ours else finding.floor


def _load(browser: Browser, url: str) -> float:
    """Seconds until the load event, as the page itself saw them."""
    browser.go(url)
    return float(browser.value("performance.getEntriesByType('navigation')[0].loadEventEnd")) / 1000


def _timed(browser: Browser, expression: str) -> float:
    began = time.perf_counter()
    browser.value(expression)
    return time.perf_counter() - began


def _serve(listener: socket.socket) -> None:
    asyncio.run(_stay(listener))


async def _stay(listener: socket.socket) -> None:
    with tempfile.TemporaryDirectory() as folder:
        policy = ConnectionPolicy(
            Dialer(DialRules(NetworkRules(OpenedNetworks.parse(["127.0.0.0/8"])))), ConnectionLog(Path(folder))
        )

        async def learn() -> ConnectionPolicy:
            return policy

        await ProxyListener(learn).listen(listener)
        await asyncio.Event().wait()
