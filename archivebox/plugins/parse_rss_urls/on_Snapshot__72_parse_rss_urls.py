#!/usr/bin/env python3
"""Reports the entries of a feed, and keeps what it says of them as text, of the document as it was sent."""

from collections.abc import Iterable

from entries import as_text

from archivebox.plugins.base import write_atomically
from archivebox.plugins.base.links import Format, Link, report_document

OUTPUT = "feed.txt"


def main() -> None:
    report_document("PARSE_RSS_URLS", Format.RSS, also=_keep_text)


def _keep_text(links: Iterable[Link]) -> None:
    write_atomically(OUTPUT, as_text(links))


if __name__ == "__main__":
    main()
