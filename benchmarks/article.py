"""How much of an article's words is kept, and how little else: token F1 of each text on the pages whose text is known.

The floor is the best single library over all pages; ours is the text that the plugin `article` chose among theirs.
Pages and texts are those of tests/site/articles.py. The share of each library is in the notes. Programs come from the
registries, as `archivebox add` gets them.
"""

import re
from collections import Counter
from pathlib import Path
from statistics import mean

from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot
from benchmarks.commands import local_site
from benchmarks.finding import Bound, Finding
from benchmarks.room import room
from tests.site.articles import PAGES, known

READERS = ("defuddle", "readability", "trafilatura", "mercury")
TEXTS = {name: f"{name}/content.txt" for name in READERS} | {
    "htmltotext": "htmltotext/htmltotext.txt",
    "article": "article/article.txt",
}
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+")
"""A word; of Chinese and Japanese, which write no spaces, a letter."""


def run(_rounds: int) -> list[Finding]:
    """Once: the same pages give the same texts."""
    with local_site() as site:
        scores = scores_of(captured(site))
    best = max(READERS, key=lambda name: mean(scores[name]))
    notes: dict[str, float | str] = {name: mean(values) for name, values in scores.items()}
    floor, ours = [mean(scores[best])], [mean(scores["article"])]
    return [Finding("article text", "F1", Bound.LEAST, floor[0], ours, floor, floor_name=best, notes=notes)]


def captured(site: str) -> dict[str, Path]:
    """Path of each page and the folder it was captured into."""
    with room(["chrome", "dom", *TEXTS], warm_up=0) as engine:
        crawl = engine.begin([site.rstrip("/") + path for path in PAGES])
        engine.wait(crawl)
    folders = Snapshot.objects.filter(crawl=crawl).values_list("url", "output_dir")
    return {"/" + url.removeprefix(site): DATA_FOLDER.root / folder for url, folder in folders}


def scores_of(folders: dict[str, Path]) -> dict[str, list[float]]:
    """F1 of every page, by who made the text; a text that is not there has none of its words right."""
    scores: dict[str, list[float]] = {name: [] for name in TEXTS}
    for path, folder in folders.items():
        wanted = tokens(known(path).text)
        for name, file in TEXTS.items():
            text = (folder / file).read_text() if (folder / file).is_file() else ""
            scores[name].append(f1(tokens(text), wanted))
    return scores


def tokens(text: str) -> Counter[str]:
    return Counter(_TOKEN.findall(text.lower()))


def f1(given: Counter[str], wanted: Counter[str]) -> float:
    """The harmonic mean of precision and recall, over tokens with how often each occurs."""
    return 2 * (given & wanted).total() / (given.total() + wanted.total())
