#!/usr/bin/env python3
"""Reports the entries of a feed, and keeps its title and what it says of them, of the document as it was sent."""

from collections.abc import Iterable

from entries import as_text

from archivebox.plugins.base import patch_snapshot, write_atomically
from archivebox.plugins.base.links import Link, ListFormat, feed_title, report_document
from archivebox.plugins.base.stored_html import StoredDocument

OUTPUT = "feed.txt"


def main() -> None:
    report_document("PARSE_RSS_URLS", ListFormat.RSS, also=_keep_words)


def _keep_words(document: StoredDocument, links: Iterable[Link]) -> None:
    write_atomically(OUTPUT, as_text(links))
    if title := feed_title(document.data):
        patch_snapshot(title=title)


if __name__ == "__main__":
    main()
