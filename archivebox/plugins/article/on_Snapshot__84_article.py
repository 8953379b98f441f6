#!/usr/bin/env python3
"""Choose the best of the texts that other plugins found in the page, and say which and why it is.

`article.txt` and `article.html` are the winner's files under a second name (hard links), so that the same bytes are
kept once.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from choice import Page, choose

from archivebox.plugins.base import Settings, give_up_after, noresults, succeeded, write_atomically
from archivebox.plugins.base.files import remove
from archivebox.plugins.base.html_text import html_to_blocks
from archivebox.plugins.base.stored_html import find_page

# Those who tell an article from a page, best first (benchmarks/article.py); where none of them has a text, the others.
READERS = ("defuddle", "readability", "trafilatura", "mercury")
OTHERS = ("htmltotext", "pdftotext", "ocr", "transcribe")
TEXTS = {"htmltotext": "htmltotext.txt"}
MAX_SIZE = 20_000_000  # bytes of one text
# What the readers call the same thing.
FACTS = {
    "title": ("title",),
    "author": ("byline", "author"),
    "published": ("publishedTime", "published", "date_published", "date"),
    "site": ("siteName", "site", "sitename"),
    "language": ("lang", "language"),
    "description": ("excerpt", "description"),
    "image": ("image", "lead_image_url"),
}


def main() -> None:
    give_up_after(Settings().timeout("ARTICLE"))
    texts = texts_of(READERS) or dict(list(texts_of(OTHERS).items())[:1])
    if not texts:
        noresults("no text of this page is stored")
    page = find_page(Path("..")) if len(texts) > 1 else None
    best = choose(Page(html_to_blocks(page.html) if page else []), texts)
    folder = Path("..", best)
    has_html = share(folder / "content.html", "article.html")
    share(text_file(best), "article.txt")
    facts = {
        "source": best,
        "characters": {name: len(text) for name, text in texts.items()},
        **facts_of([best, *texts]),
    }
    write_atomically("article.json", json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
    succeeded("article.html" if has_html else "article.txt", facts)


def texts_of(plugins: tuple[str, ...]) -> dict[str, str]:
    """The texts that there are, by plugin."""
    return {name: text_file(name).read_text("utf-8", "replace") for name in plugins if is_readable(text_file(name))}


def text_file(plugin: str) -> Path:
    return Path("..", plugin, TEXTS.get(plugin, "content.txt"))


def is_readable(path: Path) -> bool:
    return path.is_file() and 0 < path.stat().st_size <= MAX_SIZE


def facts_of(plugins: list[str]) -> dict[str, str]:
    """What the plugins say of the article, each fact by the first that knows it."""
    said = [json.loads(path.read_bytes()) for name in plugins if (path := Path("..", name, "article.json")).is_file()]
    known: dict[str, str] = {}
    for fact, words in FACTS.items():
        values = [str(one[word]) for one in said for word in words if one.get(word)]
        if values:
            known[fact] = values[0]
    return known


def share(source: Path, name: str) -> bool:
    """Give a file a second name, or a copy where the disk knows no such thing; False where there is none."""
    remove(name)
    if not source.is_file():
        return False
    try:
        os.link(source, name)
    except OSError:
        shutil.copyfile(source, name)
    return True


if __name__ == "__main__":
    main()
