#!/usr/bin/env python3
"""Report the links of the live page, those that scripts added included: one Snapshot record a URL, and `urls.jsonl`."""

from __future__ import annotations

import json

from archivebox.plugins.base import Settings, found, noresults, succeeded, write_atomically
from archivebox.plugins.base.tab import open_page

FILE = "urls.jsonl"
URL_MAX = 8000  # characters; longer ones are state of a script, not addresses
# `href` of the element is absolute and parsed by the browser's own (WHATWG) rules, <base> included.
LINKS = """
(max => {
    const seen = new Set();
    for (const link of document.querySelectorAll("a[href], area[href]")) {
        const url = typeof link.href === "string" ? link.href : new URL(link.href.baseVal, document.baseURI).href;
        if (/^https?:/.test(url)) seen.add(url.split("#")[0]);
        if (seen.size >= max) break;
    }
    seen.delete(location.href.split("#")[0]);
    return [...seen];
})(%d)
"""


def main() -> None:
    settings = Settings()
    with open_page(settings.timeout("PARSE_DOM_OUTLINKS"), read_only=True) as tab:
        urls = tab.evaluate(LINKS % settings.int("PARSE_DOM_OUTLINKS_MAX"))
    urls = [url for url in urls if len(url) <= URL_MAX]
    if not urls:
        noresults("the page links nowhere")
    write_atomically(FILE, "".join(json.dumps({"type": "Snapshot", "url": url}) + "\n" for url in urls))
    for url in urls:
        found(url)
    succeeded(f"{len(urls)} links", {"count": len(urls)})


if __name__ == "__main__":
    main()
