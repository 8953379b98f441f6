#!/usr/bin/env python3
"""Choose the best of the texts that other plugins found in the page, and say which and why it is.

`article.txt` is the winner's text under a second name (a hard link), so that the same bytes are kept once, unless boxes
of the page were put back into it; `article.html` a page to read, which needs nothing from the web.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from boxes import boxes_of, comments_in, with_boxes
from choice import PageOpening, choose
from reader import Pictures, reader_page

from archivebox.plugins.base import Hook, Settings, noresults, set_deadline, succeeded, write_atomically
from archivebox.plugins.base.article import FACTS, HTML, TEXT
from archivebox.plugins.base.hook import remove
from archivebox.plugins.base.html_text import html_to_blocks, html_to_text, parse_html
from archivebox.plugins.base.stored_html import find_shown_page

READERS = ("readability", "defuddle", "trafilatura", "mercury")  # best first, as benchmarks/article.py found them
MAX_SIZE = 20_000_000  # bytes of one text
# What the readers call the same thing.
WORDS = {
    "title": ("title",),
    "author": ("byline", "author"),
    "published": ("publishedTime", "published", "date_published", "date"),
    "site": ("siteName", "site", "sitename"),
    "language": ("lang", "language"),
    "description": ("excerpt", "description"),
    "image": ("image", "lead_image_url"),
}


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    set_deadline(settings.timeout("ARTICLE"))
    texts = {name: path.read_text("utf-8", "replace") for name in READERS if is_readable(path := file_of(name, TEXT))}
    if not texts:
        noresults("no plugin found an article in this page")
    page = find_shown_page(Path(".."))
    url = page.url if page and page.url else hook.url
    tree = parse_html(page.html if page else "")
    best = choose(PageOpening(html_to_blocks(page.html) if page else [], comments_in(tree)), texts)
    boxes = boxes_of(tree, texts[best], url)
    headings = " ".join(" ".join(node.text() for node in tree.css("title, h1")).split())
    facts = facts_of([best, *texts], headings)
    content = file_of(best, HTML).read_text("utf-8", "replace")
    if boxes:
        content = with_boxes(content, boxes)
        write_atomically("article.txt", html_to_text(content))
    else:
        share(file_of(best, TEXT), "article.txt")
    pictures = Pictures(settings.int("ARTICLE_PICTURES_SIZE"))
    write_atomically("article.html", reader_page(content, facts, url, pictures))
    said = {
        "source": best,
        "characters": {name: len(text) for name, text in texts.items()},
        "boxes": len(boxes),
        **facts,
    }
    write_atomically("article.json", json.dumps(said, ensure_ascii=False, indent=1) + "\n")
    succeeded("article.html", said)


def file_of(plugin: str, name: str) -> Path:
    return Path("..", plugin, name)


def is_readable(path: Path) -> bool:
    return path.is_file() and 0 < path.stat().st_size <= MAX_SIZE


def facts_of(plugins: list[str], headings: str) -> dict[str, str]:
    """What the plugins say of the article, each fact by the first that knows it; a title of `headings` goes first:
    what metadata call a headline may be a description.
    """
    said = [json.loads(file_of(plugin, FACTS).read_bytes()) for plugin in plugins]
    known: dict[str, str] = {}
    for fact, words in WORDS.items():
        values = [str(one[word]) for one in said for word in words if one.get(word)]
        if values:
            known[fact] = max(values, key=lambda one: fact == "title" and one in headings)
    return known


def share(source: Path, name: str) -> None:
    """Give a file a second name, or a copy where the disk knows no such thing."""
    remove(name)
    try:
        os.link(source, name)
    except OSError:
        shutil.copyfile(source, name)


if __name__ == "__main__":
    main()
