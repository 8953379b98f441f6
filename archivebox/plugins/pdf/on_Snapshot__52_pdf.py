#!/usr/bin/env python3
"""Print the page to `output.pdf`.

The tab is held exclusively: of two prints at once the browser loses one for ever.
"""

from __future__ import annotations

import base64

from archivebox.plugins.base import Settings, failed, skipped, succeeded, write_atomically
from archivebox.plugins.base.cdp import CommandFailed
from archivebox.plugins.base.tab import open_page

FILE = "output.pdf"


def main() -> None:
    settings = Settings()
    timeout, limit = settings.timeout("PDF"), settings.int("PDF_MAX_NODES")
    with open_page(timeout) as tab:
        nodes = tab.evaluate("document.getElementsByTagName('*').length")
        if nodes > limit:
            skipped(f"the page has {nodes:,} elements, more than PDF_MAX_NODES = {limit:,}")
        options = {"printBackground": settings.bool("PDF_BACKGROUND"), "preferCSSPageSize": True}
        try:
            answer = tab.call("Page.printToPDF", options, timeout=timeout)
        except CommandFailed as error:
            failed(f"the browser could not print the page: {error}")
        write_atomically(FILE, base64.b64decode(answer["data"]))
    succeeded(FILE)


if __name__ == "__main__":
    main()
