#!/usr/bin/env python3
"""Keep the article that Mozilla's Readability, the library of Firefox's reader view, finds in the live page."""

from __future__ import annotations

from archivebox.plugins.base.article import keep_article, read_page
from archivebox.plugins.base.html_text import html_to_text
from archivebox.plugins.base.inject import read_package

READ = "() => new Readability(shown.copy()).parse()"  # it takes the document apart


def main() -> None:
    article = read_page("Readability", read_package("@mozilla/readability", "Readability.js"), READ)
    content = article.pop("content", None) or ""
    article.pop("textContent")  # its paragraphs are one word with their neighbours
    keep_article(content, html_to_text(content), article)


if __name__ == "__main__":
    main()
