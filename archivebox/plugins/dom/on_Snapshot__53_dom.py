#!/usr/bin/env python3
"""Keep the HTML of the live page, as scripts have left it, in `output.html`, with its shadow roots as templates.

Where the page has shadow roots or frames, `shown.html` has what they show in its place: text and links are read there.
`words.json` counts the words that are seen, with which replays are compared. What scripts have opened above the page
(popovers, dialogs) is in `opened.json`, with styles that show it where no script runs.
"""

from __future__ import annotations

import json

from archivebox.plugins.base import Settings, failed, log, noresults, succeeded, write_atomically
from archivebox.plugins.base.cdp import TooLong
from archivebox.plugins.base.hook import remove
from archivebox.plugins.base.inject import ShownPage
from archivebox.plugins.base.stored_html import SHOWN
from archivebox.plugins.base.tab import open_page
from archivebox.plugins.base.visible_words import CAPTURE, OPTIONS, visible_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.tab import Tab

FILE, WORDS, OPENED = "output.html", "words.json", "opened.json"
MAX_SIZE = 100_000_000  # characters
MAX_COUNTED = 32_000_000  # characters of a page whose words are counted
HTML = """(limit, flat) => {
    const html = flat ? shown.flatHtml() : shown.html();
    return html.length > limit ? html.length : html;
}"""


def main() -> None:
    timeout = Settings().timeout("DOM")
    for file in (SHOWN, WORDS, OPENED):
        remove(file)
    with open_page(timeout, read_only=True) as tab:
        page = ShownPage(tab, "dom")
        html = page.call(HTML, MAX_SIZE, False, timeout=timeout)
        flat = page.call(HTML, MAX_SIZE, True, timeout=timeout)
        opened = page.call("() => ({url: location.href.split('#')[0], styles: shown.opened()})")
        if isinstance(html, str) and len(html) < MAX_COUNTED:
            write_words(tab)
    if isinstance(html, int):
        failed(f"the page's HTML has {html:,} characters, more than {MAX_SIZE:,}")
    if not html:
        noresults("the document is empty")
    write_atomically(FILE, html)
    if flat and isinstance(flat, str):
        write_atomically(SHOWN, flat)
    if opened["styles"]:
        write_atomically(OPENED, json.dumps(opened))
    succeeded(FILE)


def write_words(tab: Tab) -> None:
    try:
        words = visible_words(tab.call(CAPTURE, OPTIONS))
    except TooLong as error:
        log(f"its words were not counted: {error}")
        return
    write_atomically(WORDS, json.dumps(words, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
