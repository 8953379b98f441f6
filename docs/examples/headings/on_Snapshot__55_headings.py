#!/usr/bin/env python3
"""Save the headings of the page as an outline."""

import json

from archivebox.plugins.base import Settings, found, noresults, succeeded, write_atomically
from archivebox.plugins.base.tab import open_page

HEADINGS = """[...document.querySelectorAll("h1, h2, h3")].map((heading) => (
    {level: Number(heading.tagName[1]), text: heading.innerText.trim()}
))"""
NEXT_PAGE = """document.querySelector("a[rel=next]")?.href"""


def main() -> None:
    settings = Settings()
    with open_page(settings.timeout("HEADINGS"), read_only=True) as tab:
        headings = tab.evaluate(HEADINGS)
        next_page = tab.evaluate(NEXT_PAGE)
    if settings.bool("HEADINGS_FOLLOW_NEXT") and next_page:
        found(next_page)
    if not headings:
        noresults("The page has no headings.")
    write_atomically("headings.json", json.dumps(headings, indent=2))
    write_atomically("headings.txt", "".join("  " * (h["level"] - 1) + h["text"] + "\n" for h in headings))
    succeeded("headings.txt")


if __name__ == "__main__":
    main()
