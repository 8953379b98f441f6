#!/usr/bin/env python3
"""Report the links of the live page, those that scripts added and those in open shadow roots included."""

from __future__ import annotations

from archivebox.plugins.base import Settings
from archivebox.plugins.base.links import Link, report
from archivebox.plugins.base.tab import open_page

# `href` of the element is absolute and parsed by the browser's own (WHATWG) rules, <base> included.
LINKS = """
(max => {
    const found = [], roots = [document];
    const absolute = href => URL.canParse(href, document.baseURI) ? new URL(href, document.baseURI).href : "";
    for (let root; found.length < max && (root = roots.pop()); ) {
        for (const link of root.querySelectorAll("a[href], area[href]")) {
            const url = typeof link.href === "string" ? link.href : absolute(link.href.baseVal);
            if (/^https?:/.test(url) && found.length < max) found.push([url, link.textContent.trim().slice(0, 300)]);
        }
        for (const element of root.querySelectorAll("*")) if (element.shadowRoot) roots.push(element.shadowRoot);
    }
    return {page: location.href, found};
})(%d)
"""


def main() -> None:
    settings = Settings()
    most = settings.int("PARSE_DOM_OUTLINKS_MAX")
    with open_page(settings.timeout("PARSE_DOM_OUTLINKS"), read_only=True) as tab:
        said = tab.evaluate(LINKS % (2 * most))  # the same page may be linked twice
    links = (Link(0, url, " ".join(words.split())) for url, words in said["found"])
    report(links, said["page"], source="the live page", titles=False, most=most)


if __name__ == "__main__":
    main()
