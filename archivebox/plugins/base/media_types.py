"""Which documents the browser shows as a page by itself, and which it would download or open in a viewer."""

from __future__ import annotations

PAGES = ("text/", "application/xhtml+xml", "application/xml", "application/json", "image/svg+xml")
# Chromium downloads these (third_party/blink/common/mime_util/mime_util.cc, kUnsupportedTextTypes).
FILES = ("csv", "calendar", "vcard", "tab-separated-values", "rtf", "directory", "ldif", "qif", "ofx")


def is_page(media_type: str) -> bool:
    """Say whether a document of that Content-Type is shown as a page; one without a type may be."""
    mime = media_type.partition(";")[0].strip().lower()
    if mime.startswith("text/") and mime.removeprefix("text/").removeprefix("x-").endswith(FILES):
        return False
    return not mime or mime.startswith(PAGES) or mime.endswith("+xml")
