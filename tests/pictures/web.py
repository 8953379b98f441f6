"""Owns a small made-up web, pleasant to look at, and the proxy that is all of its servers: nothing leaves here."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.pictures.art import Palette, drawing
from tests.site import pictures

SEA: Palette = ("#0f3d57", "#2d7f9d", "#7cc4cf", "#f6c667")
WOOD: Palette = ("#f3e9dc", "#b98b5e", "#d9b48a", "#7a4a2b")
DUSK: Palette = ("#f7d9c4", "#b0546a", "#5d3a66", "#fff3c9")
MOSS: Palette = ("#eef3e2", "#5f8a4b", "#94b474", "#d9643a")
NIGHT: Palette = ("#131a33", "#c7d2f0", "#5469a8", "#f4d58d")
CLAY: Palette = ("#fbf3ea", "#c8553d", "#f28f3b", "#2d3047")
PAPER: Palette = ("#ffffff", "#adb5bd", "#dee2e6", "#1c7ed6")
FROST: Palette = ("#e4eef5", "#8fb3cc", "#5b86a8", "#e07a5f")


@dataclass(frozen=True)
class Page:
    """One page: what it says, how it looks, where it leads."""

    title: str
    byline: str
    text: str
    kind: str
    palette: Palette
    links: tuple[str, ...] = ()
    status: int = 200


TEXT = """The harbour keeps its own calendar. Twice a day the water comes back to the same stone, and twice a day
somebody has written down when. The first books are in pencil, the later ones in ink, and none of the writers knew that
the others would be read beside them.

What a page says is only half of what it is. The other half is where it stood, what lay around it, which colour the
ink had, and who had turned down the corner. A copy that keeps the words and loses the rest has kept a letter without
its envelope.

So we keep all of it: the picture as it was seen, the text as it can be searched, the files as they were sent. When the
server is gone, and servers go, the page opens as it did on the day somebody thought it was worth keeping."""

PAGES: Mapping[str, Page] = {
    "http://tides.example/almanac/": Page(
        "The tide almanac of a small harbour",
        "Ada Keeper, 14 November",
        TEXT,
        "waves",
        SEA,
        tuple(f"/almanac/day-{day}/" for day in range(1, 25)),
    ),
    "http://northwood.example/rings": Page(
        "Reading four hundred years in a stump", "The Northwood Review", TEXT, "rings", WOOD
    ),
    "http://atlas.example/walks/ridge": Page("The ridge walk, in six evenings", "Walks, no. 12", TEXT, "hills", DUSK),
    "http://garden.example/journal/october": Page(
        "October: what the leaves are for", "A garden journal", TEXT, "leaves", MOSS
    ),
    "http://observatory.example/sky/winter": Page(
        "A winter sky for the naked eye", "The observatory", TEXT, "stars", NIGHT
    ),
    "http://press.example/type/specimen": Page("Specimen of a new grotesque", "The Clay Press", TEXT, "tiles", CLAY),
    "http://statistics.example/rain/1990-2020": Page(
        "Thirty years of rain, by the gauge at the mill", "Open data", TEXT, "bars", PAPER
    ),
    "http://museum.example/objects/wheel": Page("The wheel of the old ferry", "Object 4017", TEXT, "wheel", FROST),
    "http://atlas.example/walks/coast": Page(
        "Along the coast before the fog lifts", "Walks, no. 13", TEXT, "hills", FROST
    ),
    "http://garden.example/journal/april": Page("April: everything at once", "A garden journal", TEXT, "leaves", CLAY),
    "http://press.example/type/ornaments": Page("Ornaments, 1921", "The Clay Press", TEXT, "tiles", NIGHT),
    "http://observatory.example/sky/old": Page(
        "Not found", "The observatory", "This page has moved.", "stars", PAPER, status=404
    ),
}


def page_at(url: str) -> Page | None:
    """The page at an address; the almanac has one for each of its days."""
    parts = urlsplit(url)
    day = parts.path.removeprefix("/almanac/day-").rstrip("/")
    if parts.netloc == "tides.example" and day.isdigit():
        return Page(f"Day {day}: high water and moon", "The tide almanac", TEXT, "moon", NIGHT)
    return PAGES.get(url)


STYLE = """body{margin:0;font:19px/1.65 Georgia,"Noto Serif",serif;color:%(ink)s;background:%(ground)s}
svg{display:block;height:min(32.5rem,36vw)}main{max-width:41rem;margin:0 auto;padding:2.25rem 1.5rem 5rem}
h1{font:700 46px/1.12 "Noto Sans",system-ui,sans-serif;letter-spacing:-.02em;margin:0 0 .75rem}
.by{font:16px/1.5 "Noto Sans",system-ui,sans-serif;opacity:.75;margin:0 0 2rem}p{margin:0 0 1.2em}
nav{display:flex;flex-wrap:wrap;gap:.5rem 1rem;font-size:16px}a{color:inherit}"""


def html_of(url: str, page: Page) -> bytes:
    is_dark = page.palette[0] < "#8"  # of the grounds above, the dark ones begin so
    colours = {"ink": "#e9edf7" if is_dark else "#23211f", "ground": page.palette[0]}
    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in page.text.split("\n\n"))
    links = "".join(f'<a href="{link}">{escape(link.strip("/").rpartition("/")[2])}</a> ' for link in page.links)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(page.title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE % colours}</style>'
        f"{drawing(page.kind, url, page.palette)}"
        f'<main><article><h1>{escape(page.title)}</h1><p class="by">{escape(page.byline)}</p>{paragraphs}'
        f"</article><nav>{links}</nav></main></html>"
    ).encode()


class _Handler(BaseHTTPRequestHandler):
    """A proxy that asks nobody: it is the server of every host."""

    protocol_version = "HTTP/1.1"

    def do_CONNECT(self) -> None:
        """What follows on this connection is asked of the host itself."""
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        url = (
            self.path
            if self.path.startswith("http")
            else f"http://{self.headers['Host'].removesuffix(':80')}{self.path}"
        )
        page = page_at(url)
        if page is not None:
            self._send(page.status, "text/html; charset=utf-8", html_of(url, page))
        elif url.endswith("/favicon.ico"):
            known = next((each for at, each in PAGES.items() if urlsplit(at).netloc == urlsplit(url).netloc), None)
            self._send(200, "image/x-icon", pictures.icon(32, known.palette[3] if known else pictures.NAVY))
        else:
            self._send(404, "text/plain", b"There is no such page.")

    do_HEAD = do_GET  # noqa: N815 - a name that http.server looks for

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server names it
        """Nobody reads it."""


class MadeUpWeb:
    """The proxy, from entering to leaving."""

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.proxy = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
