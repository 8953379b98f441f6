"""What the headers of an answer say: whether it is a page or a file, and for how long to leave its server alone."""

from __future__ import annotations

from archivebox.lib.mime_sniffing import is_file_url, parse_content_type
from archivebox.lib.retry_after import seconds_of

__all__ = ["essence_of", "is_file_url", "is_page", "seconds_of"]

PAGES = frozenset({"application/xhtml+xml", "application/xml", "application/json", "image/svg+xml"})
# Chromium downloads these (third_party/blink/common/mime_util/mime_util.cc, kUnsupportedTextTypes).
FILES = frozenset(
    {
        "calendar", "x-calendar", "vcalendar", "x-vcalendar", "vcard", "x-vcard", "x-vcf", "directory", "ldif", "qif",
        "x-qif", "ofx", "rtf", "csv", "x-csv", "comma-separated-values", "tab-separated-values", "tsv", "x-ms-iqy",
        "x-ms-odc", "x-ms-rqy", "x-ms-contact", "vnd.sun.j2me.app-descriptor",
    }
)  # fmt: skip


def essence_of(content_type: str) -> str:
    """Return the media type of a Content-Type in lower case, without parameters; '' where it has none."""
    return parse_content_type(content_type).essence


def is_page(media_type: str) -> bool:
    """Say whether a document of that Content-Type is shown as a page; one without a type may be."""
    mime = essence_of(media_type)
    if mime.startswith("text/"):
        return mime.removeprefix("text/") not in FILES
    return not mime or mime in PAGES or mime.endswith("+xml")
