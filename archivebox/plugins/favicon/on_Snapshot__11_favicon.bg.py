#!/usr/bin/env python3
"""Keep the page's icon: the one it names, else the site's /favicon.ico.

Fetched by the browser for the page (its proxy, its cookies, its rules on addresses), not by a client of our own, and
beside the other hooks: it begins when the page is there.
"""

from __future__ import annotations

import base64
import urllib.parse

from archivebox.plugins.base import Settings, log, noresults, succeeded, write_atomically
from archivebox.plugins.base.resources import Resources
from archivebox.plugins.base.tab import open_page

SIZE_MAX = 2_000_000  # bytes; an icon larger than that is no icon
# Largest first: an icon is shown at 16 px today and at 128 px tomorrow. Then the one every site may have.
ICONS = """
[...document.querySelectorAll('link[rel~="icon" i], link[rel="apple-touch-icon" i]')]
    .filter(link => link.href)
    .map(link => ({url: link.href, size: parseInt((link.getAttribute("sizes") || "0")) || 0}))
    .sort((a, b) => b.size - a.size)
    .slice(0, 8)
    .map(icon => icon.url)
    .concat(/^https?:/.test(location.href) ? [new URL("/favicon.ico", location.href).href] : [])
"""
# By the first bytes: servers answer a missing icon with a page of HTML, and name icons as they like.
MAGIC = (
    (b"\x00\x00\x01\x00", "ico"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF8", "gif"),
    (b"\xff\xd8\xff", "jpg"),
)


def kind(data: bytes) -> str:
    """Return the extension of an image by its first bytes, '' where it is none."""
    for magic, extension in MAGIC:
        if data.startswith(magic):
            return extension
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return "svg" if b"<svg" in data[:1000].lower() else ""


def fetch(resources: Resources, url: str) -> bytes:
    """Return the bytes behind a URL, b'' where there are none to be had."""
    if url.startswith("data:"):
        return from_data_url(url)
    found = resources.get(url, SIZE_MAX)
    return found.body if found and 200 <= found.status < 300 else b""


def from_data_url(url: str) -> bytes:
    """Decode a data: URL (RFC 2397)."""
    head, _, body = url.partition(",")
    raw = urllib.parse.unquote_to_bytes(body)
    return base64.b64decode(raw + b"=" * (-len(raw) % 4)) if head.endswith(";base64") else raw


def icon(resources: Resources, urls: list[str]) -> tuple[str, bytes] | None:
    """Return name and bytes of the first that is an image."""
    for url in dict.fromkeys(urls):
        try:
            data = fetch(resources, url)
        except ValueError as error:  # a data: URL that is none
            log(f"{url[:200]}: {error}")
            continue
        if extension := kind(data):
            return f"favicon.{extension}", data
    return None


def main() -> None:
    settings = Settings()
    with open_page(settings.timeout("FAVICON"), read_only=True) as tab:
        urls = tab.evaluate(ICONS)
        if provider := settings.str("FAVICON_PROVIDER"):
            urls.append(provider.replace("{}", tab.evaluate("location.hostname")))
        found = icon(Resources(tab), urls)
    if found is None:
        noresults("the page has no icon")
    succeeded(write_atomically(*found))


if __name__ == "__main__":
    main()
