"""What the headers of the page's own answer say of it and of its server."""

from __future__ import annotations

import re

from archivebox.plugins.base.retry_after import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

MEDIA_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)\s*(;.*)?", re.ASCII | re.DOTALL)  # RFC 9110, 8.3.1
PUTS_OFF = frozenset({429, 503})  # answers that may say when to come again (RFC 6585, 4; RFC 9110, 15.6.4)


def declared_type(response: Params) -> str:
    """Return the media type that an answer declares, else the one that the browser took it for.

    The browser speaks of what it shows: of feeds as plain text.
    """
    declared = MEDIA_TYPE.fullmatch(_header(response, "content-type"))
    return (declared[1] if declared else str(response.get("mimeType", ""))).lower()


def retry_after(response: Params) -> int:
    """Return the seconds for which the server wishes to be left alone (RFC 9110, 10.2.3); 0 where it says nothing."""
    if response.get("status") not in PUTS_OFF:
        return 0
    return seconds_of(_header(response, "retry-after").strip())


def check_of(response: Params) -> str:
    """Return whose check of visitors an answer says it is; '' where it says nothing of the kind."""
    if _header(response, "cf-mitigated") == "challenge":  # developers.cloudflare.com: Detect a Challenge Page response
        return "Cloudflare"
    if _header(response, "x-amzn-waf-action") in ("challenge", "captcha"):  # AWS WAF Developer Guide
        return "AWS WAF"
    return ""


def refresh_of(response: Params) -> float | None:
    """Return after how many seconds an answer asks to be loaded again, or to go elsewhere; None where it does not."""
    wish = re.match(r"\s*[\d.]+", _header(response, "refresh"))
    return float(wish[0]) if wish else None


def _header(response: Params, name: str) -> str:
    headers = response.get("headers", {})
    return next((str(value) for key, value in headers.items() if key.lower() == name), "")
