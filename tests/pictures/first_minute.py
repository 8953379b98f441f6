"""Owns pictures of a newcomer's first minute, one every half second: from an empty folder to an archived page."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from PIL import Image, ImageDraw

from tests.pictures.readme import MOUSE
from tests.pictures.web import MadeUpWeb
from tests.programs import SHARED, Programs
from tests.webserver.browser import Browser
from tests.webserver.server import Server

URL = "http://tides.example/almanac/"
SIZES = {1440: 900, 360: 740}
LOOKS = tuple(f"{width}-{theme}" for width in SIZES for theme in ("light", "dark"))
EVERY = 0.5
"""Seconds from one picture to the next."""
COLUMNS = {1440: 4, 360: 10}
"""Pictures in a row of a sheet, by their width."""
ROOM, NAMES = 1600, 16
"""Pixels: the width of a sheet, and the height of the names above its pictures."""
LONGEST = 90
"""Seconds for the page to be done."""
FIELD = "document.querySelector('main [name=urls]')"
TYPE = f"{FIELD}.value = {URL!r}, {FIELD}.dispatchEvent(new Event('input', {{bubbles: true}}))"
PASSWORD = "document.querySelector('main .button.quiet')"
"""By which setting one is put off."""
SEND = f"{FIELD}.form.querySelector('[name=do]').click()"
IS_DONE = "location.pathname.startsWith('/snapshots/') && document.querySelector('.facts .badge:not(.wait, .busy)')"
Scene = tuple[str, Callable[[], object], int, str]
"""Its name, what the person does, how many pictures at most, and what is true when it is over."""


def take_all(folder: Path, looks: Iterable[str] = LOOKS) -> None:
    """In each look, of a collection of its own."""
    for look in looks:
        width = int(look.partition("-")[0])
        with tempfile.TemporaryDirectory() as data, MadeUpWeb() as web, Browser(MOUSE) as browser:
            browser.size(width, SIZES[width], dark=look.endswith("dark"))
            _take_one(Path(data, "data"), folder / look, web, browser)
        lay_out(sorted((folder / look).glob("*.png")), COLUMNS[width], folder / f"{look}.webp")


def _take_one(data: Path, pictures: Path, web: MadeUpWeb, browser: Browser) -> None:
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    data.mkdir()
    with Server(data, {"PROXY": web.proxy, **_programs()}) as server:
        (pictures / "terminal.txt").write_text(server.output)
        begun = time.monotonic()
        for name, act, most, until in _scenes(server, browser):
            act()
            for _ in range(most):
                _take(browser, pictures, begun, name)
                if until and browser.value(until):
                    break
            else:
                assert not until, f"{name} is not over: {browser.value('document.body.innerText')}"
    print(f"{pictures}: {len(list(pictures.glob('*.png')))} pictures")


def _scenes(server: Server, browser: Browser) -> Iterator[Scene]:
    long = int(LONGEST / EVERY)
    yield "log-in-page", lambda: browser.go(server.url), 1, ""
    yield "log-in-link", lambda: browser.go(server.url + server.link()), 1, ""
    yield "password", lambda: browser.value("document.querySelector('main button').click()"), long, f"!!{PASSWORD}"
    yield "empty-library", lambda: browser.value(f"{PASSWORD}.click()"), long, f"!!{FIELD}"
    yield "url-typed", lambda: browser.value(TYPE), 3, ""
    yield "page", lambda: browser.value(SEND), long, f"!!({IS_DONE})"
    yield "page-done", lambda: None, 2, ""
    yield "library", lambda: browser.go(server.url), 2, ""


def _take(browser: Browser, pictures: Path, begun: float, name: str) -> None:
    """The next picture, when its time has come."""
    passed = time.monotonic() - begun
    at = passed + -passed % EVERY
    time.sleep(at - passed)
    browser.picture(pictures / f"{at:05.1f}-{name}.png")


def lay_out(pictures: list[Path], columns: int, sheet: Path) -> None:
    """All pictures on one, each under its name."""
    with Image.open(pictures[0]) as first:
        width = ROOM // columns
        height = first.height * width // first.width + NAMES
    ground = Image.new("RGB", (columns * width, -(-len(pictures) // columns) * height), "white")
    draw = ImageDraw.Draw(ground)
    for number, path in enumerate(pictures):
        x, y = number % columns * width, number // columns * height
        draw.text((x + 4, y + 2), path.stem, "black")
        with Image.open(path) as picture:
            ground.paste(picture.convert("RGB").resize((width - 4, height - NAMES - 4)), (x, y + NAMES))
    ground.save(sheet, quality=80)


def _programs() -> dict[str, str]:
    """Where those are that an earlier run of the tests has installed, if it is said."""
    return Programs(Path(os.environ[SHARED])).environment if SHARED in os.environ else {}
