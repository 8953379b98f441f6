#!/usr/bin/env python3
"""Keeps the readable text of the page, from the HTML that dom or wget has stored."""

from pathlib import Path

from xml_text import xml_in, xml_to_text

from archivebox.plugins.base import Settings, noresults, set_deadline, succeeded, write_atomically
from archivebox.plugins.base.html_text import html_to_text, parse_html
from archivebox.plugins.base.stored_html import SHOWN, StoredPage, find_sent_page, find_shown_page

OUTPUT = "htmltotext.txt"
OF_SCRIPTS = 200  # letters that scripts have written at least, and more than the server sent, in a page built by them


def main() -> None:
    set_deadline(Settings().timeout("HTMLTOTEXT"))
    page = find_shown_page(Path(".."))
    if page is None:
        noresults("No HTML of this page is stored")
    text = html_to_text(page.html)
    text = xml_to_text(xml_in(page.html, text)) or text
    if not text:
        noresults("The page has no text")
    write_atomically(OUTPUT, text)
    about = {"characters": len(text), "source": page.source, "built_by_scripts": is_built_by_scripts(page, text)}
    succeeded(OUTPUT, about)


def is_built_by_scripts(page: StoredPage, text: str) -> bool:
    """Whether most of the page's text came by scripts, so that little is to be seen where none run."""
    sent = find_sent_page(Path(".."))
    if sent is not None and page.source.endswith(SHOWN):
        text = html_to_text(without_frames(page.html))  # they are documents of their own, sent as such
    written = len(text) - len(html_to_text(sent.html)) if sent is not None else 0
    return written >= OF_SCRIPTS and written > len(text) / 2


def without_frames(html: str) -> str:
    tree = parse_html(html)
    for frame in tree.css("div[data-frame]"):
        frame.decompose()
    return tree.html or ""


if __name__ == "__main__":
    main()
