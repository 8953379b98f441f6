"""Owns exports as lists that browsers show: bookmarks, and a page of links."""

from html import escape
from typing import BinaryIO

from archivebox.export.pages import ExportedPage
from archivebox.export.writer import StreamWriter

_BOOKMARKS = b"""<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
"""
PAGE_HEAD = b"""<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Archived pages</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
li{margin:.75rem 0;overflow-wrap:anywhere}small{display:block;opacity:.75}</style>
<h1>Archived pages</h1><ul>
"""
PAGE_END = b"</ul></html>\n"


class Bookmarks(StreamWriter):
    """The list of bookmarks that browsers and bookmark services import, with dates and tags.

    The format: https://learn.microsoft.com/previous-versions/windows/internet-explorer/ie-developer/platform-apis/aa753582
    """

    def header(self) -> bytes:
        return _BOOKMARKS

    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        one = page.snapshot
        added, changed = one.bookmarked_at or one.created_at, one.created_at
        tags = f' TAGS="{_text(",".join(page.tags))}"' if page.tags else ""
        dates = f'ADD_DATE="{int(added.timestamp())}" LAST_MODIFIED="{int(changed.timestamp())}"'
        line = f'    <DT><A HREF="{_text(one.url)}" {dates}{tags}>{_text(one.title or one.url)}</A>\n'
        file.write(line.encode("utf-8", "replace"))
        return ""

    def footer(self) -> bytes:
        return b"</DL><p>\n"


class HtmlList(StreamWriter):
    """One page with a link to each page, its address, date and tags."""

    def header(self) -> bytes:
        return PAGE_HEAD

    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        one = page.snapshot
        shown, url = _text(one.title or one.url), _text(one.url)
        moment = one.bookmarked_at or one.created_at
        about = " · ".join([url, f'<time datetime="{moment.isoformat()}">{moment:%Y-%m-%d}</time>', *_tags(page)])
        link = f'<a dir="auto" href="{url}" rel="noreferrer">{shown}</a>'
        file.write(f"<li>{link}<small>{about}</small>\n".encode("utf-8", "replace"))
        return ""

    def footer(self) -> bytes:
        return PAGE_END


def _tags(page: ExportedPage) -> list[str]:
    return [f"<bdi>#{_text(tag)}</bdi>" for tag in page.tags]


def _text(text: str) -> str:
    return escape(" ".join(text.split()))
