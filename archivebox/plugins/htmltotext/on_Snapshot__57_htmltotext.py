#!/usr/bin/env python3
"""Keeps the readable text of the page, from the HTML that dom or wget has stored."""

from pathlib import Path

from xml_text import xml_in, xml_to_text

from archivebox.plugins.base import Settings, give_up_after, noresults, succeeded, write_atomically
from archivebox.plugins.base.html_text import html_to_text
from archivebox.plugins.base.stored_html import find_page

OUTPUT = "htmltotext.txt"


def main() -> None:
    give_up_after(Settings().timeout("HTMLTOTEXT"))
    page = find_page(Path(".."))
    if page is None:
        noresults("No HTML of this page is stored")
    text = html_to_text(page.html)
    text = xml_to_text(xml_in(page.html, text)) or text
    if not text:
        noresults("The page has no text")
    write_atomically(OUTPUT, text)
    succeeded(OUTPUT, {"characters": len(text), "source": page.source})


if __name__ == "__main__":
    main()
