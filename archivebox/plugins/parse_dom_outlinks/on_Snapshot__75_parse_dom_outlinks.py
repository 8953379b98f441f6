#!/usr/bin/env python3
"""Report the links of the live page, those that scripts added, in shadow roots and in frames included."""

from __future__ import annotations

from archivebox.plugins.base import Settings
from archivebox.plugins.base.inject import ShownPage
from archivebox.plugins.base.links import Link, report
from archivebox.plugins.base.tab import open_page

# `href` of the element is absolute and parsed by the browser's own (WHATWG) rules, <base> included.
LINKS_MAX = 50_000  # of one page
LINKS = "most => ({page: location.href, found: shown.links(most)})"


def main() -> None:
    with open_page(Settings().timeout("PARSE_DOM_OUTLINKS"), read_only=True) as tab:
        said = ShownPage(tab, "outlinks").call(LINKS, 2 * LINKS_MAX)  # the same page may be linked twice
    links = (Link(0, url, " ".join(words.split())) for url, words in said["found"])
    report(links, said["page"], source="the live page", titles=False, most=LINKS_MAX)


if __name__ == "__main__":
    main()
