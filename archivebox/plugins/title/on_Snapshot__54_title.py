#!/usr/bin/env python3
"""Take the title of the live page, for the Snapshot's row and for `title.txt`."""

from __future__ import annotations

from archivebox.plugins.base import Hook, Settings, noresults, patch_snapshot, succeeded, write_atomically
from archivebox.plugins.base.tab import open_page

# The title as a reader sees it; a page without one may still name itself for link previews.
TITLE = """
(document.title || (document.querySelector('meta[property="og:title"]') || {}).content || "")
    .replace(/\\s+/g, " ").trim().slice(0, 2000)
"""


def main() -> None:
    hook = Hook.from_argv()
    with open_page(Settings().timeout("TITLE"), read_only=True) as tab:
        title = tab.evaluate(TITLE)
    if not title:
        noresults("the page has no title")
    write_atomically("title.txt", title + "\n")
    patch_snapshot(id=hook.snapshot_id, title=title)
    succeeded(title)


if __name__ == "__main__":
    main()
