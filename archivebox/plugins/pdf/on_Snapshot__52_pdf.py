#!/usr/bin/env python3
"""Print the page to `output.pdf`, last of all that use the tab: some pages take minutes, and a print cannot be stopped.

Of a long page the first pages are printed by themselves, so that something is kept if the whole takes too long. The tab
is held exclusively: of two prints at once the browser loses one for ever.
"""

from __future__ import annotations

import base64
import os

from shrink import shrunk

from archivebox.plugins.base import Settings, log, ready, skipped, succeeded, try_again, write_atomically
from archivebox.plugins.base.cdp import CommandFailed, TooLong
from archivebox.plugins.base.tab import DRAWN_ELEMENTS_MAX, Tab, open_page

FILE = "output.pdf"
FIRST_PAGES = 20
LARGE, HUGE = 200_000, 50_000_000  # bytes of prints in which there may be photographs; above that it takes too long
PAGE = b"/Type /Page\n"
# On paper nothing is scrolled to: what appears by scrolling (Scroll-driven Animations 1) is shown as without that, or
# as it is at the end, where it is seen better then.
SHOW = """(() => {
  for (const one of document.getAnimations()) {
    const {target, pseudoElement} = one.effect ?? {};
    if (!target || !one.timeline || one.timeline === document.timeline) continue;
    const style = getComputedStyle(target, pseudoElement);
    one.finish();
    const end = Number(style.opacity);
    one.cancel();
    if (Number(style.opacity) < end) target.style.setProperty("opacity", end, "important");
  }
})()"""
# Sheets of paper (Letter, less its margins: 979 px) that the page fills at least; on paper it is narrower and longer.
SHEETS = "Math.ceil(document.documentElement.scrollHeight / 979)"


def print_page(tab: Tab, settings: Settings, pages: int) -> int:
    """Keep the first `pages` pages, fewer where there are not so many; return how many there are."""
    options = {
        "printBackground": settings.bool("PDF_BACKGROUND"),
        "preferCSSPageSize": True,
        "pageRanges": f"1-{pages}",
    }
    try:
        data = base64.b64decode(tab.call("Page.printToPDF", options)["data"])
    except CommandFailed as error:
        tab.make_answer()  # it is lost where the renderer was killed meanwhile
        try_again(f"The browser could not print the page: {error}")  # or its process that prints was killed
    write_atomically(FILE, data)
    return data.count(PAGE)


def make_smaller() -> None:
    """Write the print anew with smaller photographs, once the tab is given back, and only where there may be some."""
    if not LARGE < os.path.getsize(FILE) < HUGE:
        return
    with open(FILE, "rb") as file:
        data = file.read()
    write_atomically(FILE, shrunk(data))


def what_was_kept(kept: int, sheets: int) -> str:
    """Say how much of a page that is cut was printed; `sheets`: how many it fills at least."""
    first = "the first sheet" if kept == 1 else f"the first {kept:,} sheets"
    return f"{first} of at least {sheets:,}" if sheets > kept else f"{first}, and there may be more"


def main() -> None:
    settings = Settings()
    pages_max = settings.int("PDF_MAX_PAGES")
    kept, cut, sheets = 0, False, 0
    with open_page(settings.timeout("PDF")) as tab:
        if (nodes := tab.count_elements()) > DRAWN_ELEMENTS_MAX:
            skipped(f"the page has {nodes:,} elements, more than {DRAWN_ELEMENTS_MAX:,}")
        tab.evaluate(SHOW)
        sheets = tab.evaluate(SHEETS)
        if sheets > FIRST_PAGES:
            kept = print_page(tab, settings, FIRST_PAGES)
        try:
            kept = print_page(tab, settings, pages_max)
            cut = kept == pages_max
        except TooLong as error:
            if not kept:
                raise
            cut = True
            log(f"the first {kept} pages are kept: {error}")
    ready()
    make_smaller()
    said = f"{FILE}: {what_was_kept(kept, sheets)}" if cut else FILE
    succeeded(said, {"pages": kept, "cut": cut})


if __name__ == "__main__":
    main()
