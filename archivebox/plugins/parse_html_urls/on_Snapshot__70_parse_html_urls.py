#!/usr/bin/env python3
"""Reports the links in the HTML that dom or wget has stored."""

import json
from pathlib import Path

from links import find_links

from archivebox.plugins.base import Hook, Settings, found, give_up_after, noresults, succeeded, write_atomically
from archivebox.plugins.base.stored_html import find_page

OUTPUT = "urls.jsonl"


def main() -> None:
    hook = Hook.from_argv()
    give_up_after(Settings().timeout("PARSE_HTML_URLS"))
    page = find_page(Path(".."))
    if page is None:
        noresults("No HTML of this page is stored")
    urls = list(find_links(page.html, page.url or hook.url))
    if not urls:
        noresults("The page has no links")
    write_atomically(OUTPUT, "".join(json.dumps({"type": "Snapshot", "url": url}) + "\n" for url in urls))
    for url in urls:
        found(url)
    succeeded(OUTPUT, {"urls": len(urls), "source": f"{page.path.relative_to('..')}"})


if __name__ == "__main__":
    main()
