#!/usr/bin/env python3
"""Keep the article that Trafilatura finds in the HTML that dom or wget has stored."""

from __future__ import annotations

from pathlib import Path

from archivebox.plugins.base import Hook, Settings, noresults, set_deadline
from archivebox.plugins.base.article import keep_article
from archivebox.plugins.base.hook import within_memory
from archivebox.plugins.base.stored_html import find_shown_page

FACTS = ("title", "author", "date", "sitename", "hostname", "description", "categories", "tags", "image", "language")


def main() -> None:
    hook = Hook.from_argv()
    set_deadline(Settings().timeout("TRAFILATURA"))
    page = find_shown_page(Path(".."))
    if page is None:
        noresults("No HTML of this page is stored")
    import trafilatura  # takes 150 ms, for nothing where no page is stored

    url = page.url or hook.url
    with within_memory(len(page.html)):
        article = trafilatura.extract_with_metadata(
            page.html,
            url=url,
            output_format="html",
            include_comments=False,
            include_links=True,
            include_images=True,
            date_extraction_params={"extensive_search": False},  # which takes the year beside a © for the date
        )
        if article is None:
            noresults("no article was found")
        text = trafilatura.extract(page.html, url=url, output_format="txt", include_comments=False)
    content = article.text.partition("<body>")[2].rpartition("</body>")[0]
    keep_article(content, text or "", {name: getattr(article, name) for name in FACTS})


if __name__ == "__main__":
    main()
