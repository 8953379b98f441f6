"""Which documents the browser shows as a page by itself, and which it would download or open in a viewer."""

from __future__ import annotations

from archivebox.lib.file_urls import is_file_url
from archivebox.lib.mime_sniffing import parse_content_type

__all__ = ["essence_of", "is_file_url", "is_page"]

PAGES = ("text/", "application/xhtml+xml", "application/xml", "application/json", "image/svg+xml")
# Chromium downloads these (third_party/blink/common/mime_util/mime_util.cc, kUnsupportedTextTypes).
FILES = ("csv", "calendar", "vcard", "tab-separated-values", "rtf", "directory", "ldif", "qif", "ofx")


def essence_of(content_type: str) -> str:
    """Return the media type of a Content-Type in lower case, without parameters; '' where it has none."""
    return parse_content_type(content_type).essence


def is_page(media_type: str) -> bool:
    """Say whether a document of that Content-Type is shown as a page; one without a type may be."""
    mime = essence_of(media_type)
    if mime.startswith("text/") and mime.removeprefix("text/").removeprefix("x-").endswith(FILES):
        return False
    return not mime or mime.startswith(PAGES) or mime.endswith("+xml")
