#!/usr/bin/env python3
"""Keep the page in one file, `page.mhtml` (RFC 2557), as Chromium saves it: always to be had, but shown by it alone.

It holds the same styles and pictures as SingleFile's file, so it is made where there is none.
"""

from __future__ import annotations

import os

from archivebox.plugins.base import Settings, failed, sibling, skipped, succeeded, write_atomically
from archivebox.plugins.base.cdp import CommandFailed
from archivebox.plugins.base.tab import open_page

FILE = "page.mhtml"
MAX_SIZE = 200_000_000  # bytes
SINGLEFILE = os.path.join(sibling("singlefile"), "singlefile.html")


def main() -> None:
    settings = Settings()
    if os.path.exists(SINGLEFILE) and not settings.bool("MHTML_ALWAYS"):
        skipped("SingleFile has saved the page (MHTML_ALWAYS=true keeps both)")
    with open_page(settings.timeout("MHTML"), read_only=True) as tab:
        try:
            page = tab.call("Page.captureSnapshot", {"format": "mhtml"})["data"]
        except CommandFailed as error:
            tab.make_answer()  # it is lost where the renderer was killed meanwhile
            failed(f"the browser could not save the page: {error}")
    if len(page) > MAX_SIZE:
        failed(f"the page takes {len(page):,} bytes, more than {MAX_SIZE:,}")
    write_atomically(FILE, page)
    succeeded(FILE)


if __name__ == "__main__":
    main()
