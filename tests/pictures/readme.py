"""Owns the pictures of the README: archives a made-up web with the real program, and takes them of its pages."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from tests.pictures.web import PAGES, MadeUpWeb
from tests.webserver.browser import Browser
from tests.webserver.server import CHECKOUT, Server, environment, in_collection

FOLDER = CHECKOUT / "docs" / "images"
WIDE, PHONE = (1360, 850), (360, 780)
MOUSE = "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"
"""There is none, and pages would show what fingers need."""
ALMANAC = "http://tides.example/almanac/"
TAGS = {"atlas": "walks", "garden": "garden", "press": "type", "observatory": "sky", "northwood": "history"}
GIVEN = """http://atlas.example/walks/ridge
http://museum.example/objects/lantern
http://press.example/type/revival
Read on Sunday: http://northwood.example/rain, and http://northwood.example/moss
somewhere, I forget where"""
NEWEST = """from archivebox.core.models import Snapshot
import sys; print(Snapshot.objects.filter(url=sys.argv[1]).latest('pk').pk)"""


def take_everything() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, MadeUpWeb() as web:
        data = Path(folder, "data")
        data.mkdir()
        archive(data, web)
        with Server(data, {"PROXY": web.proxy}) as server, Browser(MOUSE) as browser:
            browser.go(server.url + server.link())
            browser.value("document.querySelector('main button').click()")
            browser.wait_for("!location.pathname.startsWith('/login/')")
            take_all(server, browser)
            take_a_crawl(server, browser, data, web)


def archive(data: Path, web: MadeUpWeb) -> None:
    """All pages once, and the almanac twice: it has versions."""
    by_tag: dict[str, list[str]] = {}
    for url in PAGES:
        host = url.partition("://")[2].partition(".")[0]
        by_tag.setdefault(TAGS.get(host, ""), []).append(url)
    run(data, web, "add", ALMANAC)
    for tag, urls in by_tag.items():
        run(data, web, "add", *([f"--tag={tag}"] if tag else []), *urls)


def run(data: Path, web: MadeUpWeb, *words: str) -> None:
    command = [sys.executable, "-m", "archivebox", *words]
    subprocess.run(command, env=environment(data, PROXY=web.proxy), cwd=CHECKOUT, check=True, stdout=subprocess.DEVNULL)


def take_all(server: Server, browser: Browser) -> None:
    """What stands still."""
    page = f"{server.url}/snapshots/{in_collection(server.folder, NEWEST, ALMANAC)}/"
    for name, address, size, dark in (
        ("library", f"{server.url}/?view=cards", WIDE, False),
        ("library-dark", f"{server.url}/?view=cards", WIDE, True),
        ("library-phone", f"{server.url}/?view=cards", PHONE, False),
        ("snapshot", page, WIDE, False),
        ("snapshot-phone", page, PHONE, True),
        ("reader", f"{page}?view=article-reader", WIDE, True),
        ("replay", f"{page}?view=replay&full", WIDE, False),
    ):
        with window(browser, size, dark=dark):
            browser.go(address)
            take(browser, name)
    with window(browser, WIDE):
        browser.go(f"{server.url}/add/")
        browser.value(f"document.querySelector('[name=urls]').value = {GIVEN!r}")
        browser.value("document.querySelector('[name=urls]').dispatchEvent(new Event('input', {bubbles: true}))")
        browser.wait_for("Boolean(document.querySelector('.tally'))")
        take(browser, "add")


def take_a_crawl(server: Server, browser: Browser, data: Path, web: MadeUpWeb) -> None:
    """A crawl when some of its pages are done, others run and others wait."""
    run(data, web, "add", "--bg", "--depth=1", "--label=The tide almanac", ALMANAC)
    browser.go(f"{server.url}/crawls/")
    browser.follow("main tbody a")
    with window(browser, WIDE):
        browser.wait_for("Boolean(document.querySelector('[data-part^=counts]'))")
        browser.wait_for("Number(document.querySelector('main').innerText.match(/(\\d+) done/)?.[1]) > 7", 120)
        take(browser, "crawl")


@contextmanager
def window(browser: Browser, size: tuple[int, int], *, dark: bool = False) -> Iterator[None]:
    browser.size(*size, dark=dark)
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1.5, "mobile": size == PHONE}
    browser.tab.call("Emulation.setDeviceMetricsOverride", metrics)
    yield


def take(browser: Browser, name: str) -> None:
    """Keep what the window shows, once all its pictures are there."""
    browser.wait_for("[...document.images].every(one => one.complete || one.loading === 'lazy')")
    if browser.value("Boolean(document.querySelector('.body iframe'))"):
        browser.in_frame("document.readyState === 'complete' && Boolean(document.querySelector('h1'))")
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder, "picture.png")
        browser.picture(picture)
        Image.open(picture).convert("RGB").save(FOLDER / f"{name}.webp", quality=74, method=6)
    print(f"{name}: {(FOLDER / f'{name}.webp').stat().st_size // 1000} kB")
