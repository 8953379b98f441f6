#!/usr/bin/env python3
"""Keep the HTML of the live page, as scripts have left it, in `output.html`, with its shadow roots as templates.

Where the page has shadow roots or frames, `shown.html` has what they show in its place: text and links are read there.
"""

from __future__ import annotations

from archivebox.plugins.base import Settings, failed, noresults, succeeded, write_atomically
from archivebox.plugins.base.files import remove
from archivebox.plugins.base.shown import ShownPage
from archivebox.plugins.base.stored_html import SHOWN
from archivebox.plugins.base.tab import open_page

FILE = "output.html"
MAX_SIZE = 100_000_000  # characters
HTML = """(limit, flat) => {
    const html = flat ? shown.flatHtml() : shown.html();
    return html.length > limit ? html.length : html;
}"""


def main() -> None:
    timeout = Settings().timeout("DOM")
    remove(SHOWN)
    with open_page(timeout, read_only=True) as tab:
        page = ShownPage(tab, "dom")
        html = page.call(HTML, MAX_SIZE, False, timeout=timeout)
        flat = page.call(HTML, MAX_SIZE, True, timeout=timeout)
    if isinstance(html, int):
        failed(f"the page's HTML has {html:,} characters, more than {MAX_SIZE:,}")
    if not html:
        noresults("the document is empty")
    write_atomically(FILE, html)
    if flat and isinstance(flat, str):
        write_atomically(SHOWN, flat)
    succeeded(FILE)


if __name__ == "__main__":
    main()
