"""Owns the comparison of each archived page with the live one: as the application shows it, format by format."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from archivebox.plugins.base.html_text import html_to_text
from tests.quality.acts import act
from tests.quality.archive import Captured
from tests.quality.eyes import HEIGHT, STILL_S, WIDTH, Requests, Sight, View, sight, words_of
from tests.quality.pywb import Replayer
from tests.quality.samples import Sample
from tests.quality.score import Score, lost, lost_on_paper, score_of, score_of_picture
from tests.site.serve import Site
from tests.webserver.browser import Browser
from tests.webserver.server import Server

FORMATS = ("picture", "singlefile", "pdf", "replay", "scripts", "article", "pywb")
"""The columns, each a way to look at a page."""
BY_WORDS = ("pdf", "article")
"""Formats that are judged wherever they are, by their words alone."""
OPENED = {"screenshot": "picture", "singlefile": "singlefile", "replay": "replay", "pdf": "pdf"}
"""What the application calls a format → our column."""
PICTURES = ("screenshot/screenshot.png", "screenshot/screenshot.webp")
FRAME = "document.querySelector('.stage iframe, iframe')"
BOX = (
    f"(box => box && [box.x, box.y, box.width, box.height, innerWidth, innerHeight])({FRAME}?.getBoundingClientRect())"
)
RUN = "document.querySelector('button[name=scripts]')?.click()"
RUNS = f"Boolean({FRAME}?.sandbox.contains('allow-scripts'))"
FIRST = """new URLSearchParams(document.querySelector('a[href^="?view="][aria-current]')?.search).get('view') ?? ''"""
TRIES = 3
"""How often a window is made to fit what is around a frame."""


@dataclass
class Measured:
    """What was measured of one page."""

    sample: Sample
    captured: Captured
    noise: Score = field(default_factory=Score)
    first: str = ""
    """The format that the application opens first: one of `FORMATS`, or its own name."""
    scores: dict[str, Score | None] = field(default_factory=dict)
    day: str = ""
    """The date of the measurement."""

    @property
    def deciding(self) -> tuple[str, ...]:
        """The formats that the page's verdict hangs on; those of words where they were made whole."""
        by_words = [name for name in BY_WORDS if self.scores.get(name) and name not in self.sample.cut]
        return (self.first, *(["scripts"] if self.sample.lives else []), *by_words)

    def misses(self) -> list[str]:
        """What is beyond the thresholds, as sentences; nothing for a page that is not the one asked for."""
        return [
            f"{name or 'nothing opens first'}: {why}"
            for name in dict.fromkeys(self.deciding)
            if (why := _miss(self.scores.get(name)))
        ]


def _miss(score: Score | None) -> str:
    return "is not there" if score is None else ", ".join(score.misses())


@dataclass(frozen=True)
class Measure:
    """Looks at pages, one after the other, by one browser."""

    browser: Browser
    site: Site
    server: Server
    app: Sight
    replayer: Replayer | None
    pictures: Path
    """The folder where what was seen is kept, for who wants to see what differs."""

    def of(self, sample: Sample, captured: Captured) -> Measured:
        live, again = (self._live(sample) for _ in range(2))
        self._keep(live, captured, "live")
        today = datetime.now(UTC).date().isoformat()
        found = Measured(sample, captured, score_of(live, again), self._first(captured), day=today)
        picture, article = captured.file(*PICTURES), captured.file("article/article.html")
        pdf = captured.file("pdf/output.pdf")
        found.scores = {
            "picture": score_of_picture(live, picture) if picture else None,
            "singlefile": self._shown(captured, "singlefile", live),
            "pdf": Score(words=lost_on_paper(live.words, _text_of(str(pdf)))) if pdf else None,
            "replay": (replay := self._shown(captured, "replay", live)),
            "scripts": self._run(captured, sample, live) if replay else None,
            "article": Score(words=lost(live.about, words_of(_text_in(article)))) if article else None,
            "pywb": self._replayed(captured, sample, live),
        }
        return found

    def _live(self, sample: Sample) -> View:
        with sight(self.browser) as one:
            return one.view(one.go(self.site.url_for(sample.path)))

    def _first(self, captured: Captured) -> str:
        self.app.go(f"{self.server.url}/snapshots/{captured.key}/", STILL_S)
        name = str(self.app.value(FIRST))
        return OPENED.get(name, name)

    def _shown(self, captured: Captured, view: str, live: View) -> Score | None:
        """How the application shows a format, in a frame as large as the live page's window."""
        app = self.app
        for _ in range(TRIES):
            requests = app.go(f"{self.server.url}/snapshots/{captured.key}/?view={view}&full", STILL_S)
            if app.value(FIRST) != view or not app.value(BOX):
                return None
            if self._fits():
                break
        shown = self._view(requests)
        self._keep(shown, captured, view)
        return score_of(live, shown)

    def _keep(self, view: View, captured: Captured, name: str) -> None:
        self.pictures.mkdir(exist_ok=True)
        view.picture.save(self.pictures / f"{re.sub('[^a-z0-9]+', '-', captured.path.strip('/'))}.{name}.png")

    def _run(self, captured: Captured, sample: Sample, live: View) -> Score | None:
        """How it shows the replay that is shown now, with its scripts, and what a reader can do there."""
        app = self.app
        requests = app.after(RUN)
        if not app.value(RUNS):
            return None
        if not self._fits():
            time.sleep(STILL_S)  # until it is drawn in its new size
        shown = self._view(requests)
        self._keep(shown, captured, "scripts")
        score = score_of(live, shown)
        score.acts = {name: act(app, app.shown_frame(), name) for name in sample.acts}
        return score

    def _fits(self) -> bool:
        """Whether the frame is as large as a window; the window is made to fit it otherwise."""
        _, _, width, height, around_x, around_y = self.app.value(BOX)
        if (round(width), round(height)) == (WIDTH, HEIGHT):
            return True
        self.app.resize(around_x + WIDTH - round(width), around_y + HEIGHT - round(height))
        return False

    def _view(self, requests: Requests) -> View:
        x, y, *_ = self.app.value(BOX)
        return self.app.view(requests, self.app.shown_frame(), (x, y))

    def _replayed(self, captured: Captured, sample: Sample, live: View) -> Score | None:
        if self.replayer is None:
            return None
        with sight(self.browser) as one:
            shown = one.view(one.go(self.replayer.address(captured.final_url or captured.url)))
            self._keep(shown, captured, "pywb")
            score = score_of(live, shown)
            score.acts = {name: act(one, one.main_frame, name) for name in sample.acts}
        return score


def _text_in(page: Path) -> str:
    """What the article's own page has to be read, with its headline."""
    return html_to_text(page.read_text("utf-8", "replace"))


def _text_of(pdf: str) -> str:
    done = subprocess.run(["pdftotext", pdf, "-"], capture_output=True, check=False, timeout=120)
    return done.stdout.decode("utf-8", "replace")


@contextmanager
def application(browser: Browser, server: Server) -> Iterator[Sight]:
    """A profile that is logged in."""
    with sight(browser) as one:
        one.go(server.url + server.link())
        one.after("document.querySelector('main button').click()")
        assert not str(one.value("location.pathname")).startswith("/login/"), json.dumps(one.value("document.title"))
        yield one
