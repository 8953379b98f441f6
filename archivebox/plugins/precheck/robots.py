"""Whether a robots.txt allows a page (RFC 9309)."""

from __future__ import annotations

import urllib.parse

SIZE_MAX = 512_000  # bytes that are read of it (RFC 9309, 2.5: at least 500 KiB)


def robots_url(url: str) -> str:
    """Return where the robots.txt for a page is."""
    return urllib.parse.urljoin(url, "/robots.txt")


def is_allowed(status: int, text: str, url: str, robot: str) -> bool:
    """Judge by the answer for robots.txt: one that is not there allows everything, a broken site nothing."""
    if not 200 <= status < 300:
        return status < 500
    from protego import Protego  # 20 ms, which only who asks for robots pays

    allowed: bool = Protego.parse(text).can_fetch(url, robot)
    return allowed
