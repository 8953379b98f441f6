"""How much of an article's words is kept, and how little else: token F1 of texts on the pages whose text is known.

The floor is the best single library; ours is what the plugin `article` makes of those libraries that run by default.
The bounds are for the half of the pages that nothing was fitted to. The notes have the means of each choice of
libraries. Programs, and pages of other packages (:mod:`benchmarks.article_set`), come from the registries.
"""

import re
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean
from urllib.parse import quote, unquote

from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot
from archivebox.plugins.article.boxes import boxes_of, comments_in, with_boxes
from archivebox.plugins.article.choice import PageOpening, choose
from archivebox.plugins.base.html_text import html_to_blocks, html_to_text, parse_html
from archivebox.plugins.base.stored_html import find_shown_page
from benchmarks.article_set import Known, all_pages
from benchmarks.finding import Bound, Finding
from benchmarks.room import room

READERS = ("readability", "defuddle", "trafilatura", "mercury")
DEFAULT = READERS[:2]
CHOICES = (DEFAULT, ("readability", "trafilatura"), ("defuddle", "trafilatura"), READERS[:3], READERS)
WORST = 0.05
"""Of F1, by which the article of a page may be below the best text that there was."""
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1000-\u109f]|\w+")
"""A word; of writings that have no spaces between words, a letter."""
Scores = dict[tuple[str, str], float]
"""(page, who made the text) → F1."""


def run(_rounds: int) -> list[Finding]:
    """Once: the same pages give the same texts."""
    with tempfile.TemporaryDirectory(prefix="bench-articles-") as folder:
        pages = all_pages(Path(folder))
        with site_of(pages) as site:
            scores = scores_of(pages, captured(site, pages))
    halves = {held: [name for name, page in pages.items() if page.is_held_out is held] for held in (False, True)}
    ours, held = named(DEFAULT), halves[True]
    best = max(READERS, key=lambda reader: mean(scores[name, reader] for name in held))
    floor = mean(scores[name, best] for name in held)
    text = Finding(
        "article text, held-out pages", "F1", Bound.LEAST, floor, [mean(scores[name, ours] for name in held)]
    )
    text.floor, text.floor_name, text.notes = [floor], best, dict(table(scores, halves, pages))
    gaps = [max(scores[name, reader] for reader in DEFAULT) - scores[name, ours] for name in held]
    return [
        text,
        Finding("article below its best candidate, worst held-out page", "F1", Bound.MOST, WORST, [max(gaps)]),
    ]


def table(
    scores: Scores, halves: Mapping[bool, Sequence[str]], pages: Mapping[str, Known]
) -> Iterator[tuple[str, str]]:
    """Each choice with its means: fitted half, held-out half, and of these the documentation."""
    handbook = [name for name in halves[True] if pages[name].source == "documentation"]
    for who in (*READERS, "htmltotext", *map(named, CHOICES)):
        means = (mean(scores[name, who] for name in names) for names in (halves[False], halves[True], handbook))
        yield who, "/".join(f"{value:.3f}" for value in means)


@contextmanager
def site_of(pages: Mapping[str, Known]) -> Iterator[str]:
    """The pages at their names; nothing of what they ask for elsewhere is allowed, and none of their scripts."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(unquote(self.path[1:]))
            body = page.html if page else b""
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - signature of http.server
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def captured(site: str, pages: Mapping[str, Known]) -> dict[str, Path]:
    """Name of each page and the folder it was captured into."""
    with room(["chrome", "dom", "htmltotext", *READERS], warm_up=0) as engine:
        crawl = engine.begin([site + quote(name) for name in pages])
        engine.wait(crawl)
    folders = Snapshot.objects.filter(crawl=crawl).values_list("url", "output_dir")
    return {unquote(url.removeprefix(site)): DATA_FOLDER.root / folder for url, folder in folders}


def scores_of(pages: Mapping[str, Known], folders: Mapping[str, Path]) -> Scores:
    """F1 of every text of every page; one that is not there has none of its words right."""
    scores: Scores = {}
    for name, page in pages.items():
        folder, wanted = folders[name], tokens(page.text)
        texts = {reader: read(folder / reader / "content.txt") for reader in READERS}
        texts["htmltotext"] = read(folder / "htmltotext" / "htmltotext.txt")
        texts |= {named(choice): article(folder, choice, texts) for choice in CHOICES}
        scores |= {(name, who): f1(tokens(text), wanted) for who, text in texts.items()}
    return scores


def named(choice: Sequence[str]) -> str:
    return "+".join(choice)


def read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def article(folder: Path, choice: Sequence[str], texts: Mapping[str, str]) -> str:
    """What the plugin's hook makes of these texts."""
    there = {reader: texts[reader] for reader in choice if texts[reader]}
    page = find_shown_page(folder)
    if not there or page is None:
        return ""
    tree = parse_html(page.html)
    best = choose(PageOpening(html_to_blocks(page.html), comments_in(tree)), there)
    boxes = boxes_of(tree, there[best], page.url)
    return html_to_text(with_boxes(read(folder / best / "content.html"), boxes)) if boxes else there[best]


def tokens(text: str) -> Counter[str]:
    return Counter(_TOKEN.findall(text.lower()))


def f1(given: Counter[str], wanted: Counter[str]) -> float:
    """The harmonic mean of precision and recall, over tokens with how often each occurs."""
    return 2 * (given & wanted).total() / max(1, given.total() + wanted.total())
