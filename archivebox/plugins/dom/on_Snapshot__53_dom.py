#!/usr/bin/env python3
"""Keep the HTML of the live page, as scripts have left it, in `output.html`."""

from __future__ import annotations

from archivebox.plugins.base import Settings, failed, noresults, succeeded, write_atomically
from archivebox.plugins.base.tab import open_page

FILE = "output.html"
# The doctype decides how a page is laid out; outerHTML of the root element leaves it out.
HTML = """
(limit => {
    const doctype = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\\n" : "";
    const html = doctype + (document.documentElement ? document.documentElement.outerHTML : "");
    return html.length > limit ? html.length : html;
})(%d)
"""


def main() -> None:
    settings = Settings()
    limit, timeout = settings.int("DOM_MAX_SIZE"), settings.timeout("DOM")
    with open_page(timeout, read_only=True) as tab:
        html = tab.evaluate(HTML % limit, timeout=timeout)
    if isinstance(html, int):
        failed(f"the page's HTML has {html:,} characters, more than DOM_MAX_SIZE = {limit:,}")
    if not html:
        noresults("the document is empty")
    write_atomically(FILE, html)
    succeeded(FILE)


if __name__ == "__main__":
    main()
