#!/usr/bin/env python3
"""Keep the article that Defuddle finds in the live page."""

from __future__ import annotations

from archivebox.plugins.base.article import keep_article, read_page
from archivebox.plugins.base.html_text import html_to_text
from archivebox.plugins.base.inject import read_package

# It changes the document that it is given. `useAsync` would ask other services for the content of some sites.
READ = "() => new Defuddle(shown.copy(), {url: location.href, useAsync: false}).parse()"


def main() -> None:
    article = read_page("Defuddle", read_package("defuddle", "dist/index.js"), READ)
    content = article.pop("content", None) or ""
    keep_article(content, html_to_text(content), article)


if __name__ == "__main__":
    main()
