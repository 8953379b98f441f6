"""Why a page could not be had, in words for people, and whether another time may be different.

The codes are Chromium's (net/base/net_error_list.h). Where the crawl's proxy refused or failed, its log has more to
say than the browser, which sees only that its proxy made no connection.
"""

from __future__ import annotations

import os
import urllib.parse

from archivebox.plugins.base.hook import record_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOG_TAIL = 1 << 16  # bytes of the log in which the connection is looked for: it was the last but a few
OF_PROXY = ("net::ERR_SOCKS", "net::ERR_PROXY", "net::ERR_TUNNEL")
OF_THE_WAY_OUT = {
    "private_address": ("private_address", False),
    "size_reached": ("size_reached", False),
    "no_such_name": ("no_such_host", False),
    "connection_refused": ("connection_refused", True),
    "unreachable": ("unreachable", True),
    "timeout": ("no_answer", True),
    "bad_request": ("", False),
}
"""What the proxy says of a connection that it did not make: our reason, and whether it may pass by itself."""
_PERMANENT = (
    ("net::ERR_NAME_NOT_RESOLVED", "no_such_host", "there is no host of that name"),
    ("net::ERR_TOO_MANY_REDIRECTS", "redirect_loop", "it redirects in circles"),
    ("net::ERR_CERT_DATE_INVALID", "tls_failed", "the server's certificate has expired or is not valid yet"),
    ("net::ERR_CERT_COMMON_NAME_INVALID", "tls_failed", "the server's certificate is for another name"),
    (
        "net::ERR_CERT_AUTHORITY_INVALID",
        "tls_failed",
        "the server's certificate is from an authority that is not trusted",
    ),
    ("net::ERR_CERT_", "tls_failed", "the server's certificate is not valid"),
    ("net::ERR_SSL_", "tls_failed", "no secure connection could be agreed on"),
    ("net::ERR_INVALID_HTTP_RESPONSE", "no_page", "what the server says is not HTTP"),
    ("net::ERR_RESPONSE_HEADERS_", "no_page", "the server's headers contradict each other or are too long"),
    ("net::ERR_CONTENT_DECODING", "no_page", "the server's answer cannot be unpacked"),
    ("net::ERR_UNSAFE_PORT", "", "browsers open no pages at that port"),
    ("net::ERR_BLOCKED_BY_", "", "it is blocked"),
    ("net::ERR_INVALID_URL", "", "there is no such address"),
    ("net::ERR_INVALID_REDIRECT", "", "it redirects to what is no address"),
)
_TRANSIENT = (
    ("net::ERR_CONNECTION_REFUSED", "connection_refused", "no server listens at that address and port"),
    ("net::ERR_CONNECTION_TIMED_OUT", "no_answer", "the server did not answer"),
    ("net::ERR_TIMED_OUT", "no_answer", "the server did not answer"),
    ("net::ERR_DNS_TIMED_OUT", "no_answer", "its name could not be looked up"),
    ("net::ERR_ADDRESS_UNREACHABLE", "unreachable", "there is no way to the server"),
    ("net::ERR_INTERNET_DISCONNECTED", "unreachable", "there is no network"),
    ("net::ERR_NETWORK_CHANGED", "connection_lost", "the network changed on the way"),
    ("net::ERR_EMPTY_RESPONSE", "connection_lost", "the server hung up without an answer"),
    ("net::ERR_CONNECTION_", "connection_lost", "the server broke the connection off"),
    ("net::ERR_INVALID_CHUNKED", "connection_lost", "the server sent a broken chunk"),
    ("net::ERR_INCOMPLETE_CHUNKED", "connection_lost", "the server broke the connection off"),
    ("net::ERR_CONTENT_LENGTH_MISMATCH", "connection_lost", "the server broke the connection off"),
    ("net::ERR_HTTP2_", "connection_lost", "the server broke the connection off"),
    *((code, "", "the crawl's proxy made no connection") for code in OF_PROXY),
)
WITHOUT_BODY = frozenset({204, 205, 304})  # answers that leave the page as it was (RFC 9110, 15.3 and 15.4)
MAY_PASS = frozenset({408, 425, 429})  # and all above 499 (RFC 9110, 15.5 and 15.6; RFC 6585, 4; RFC 8470, 5.2)


class Problem:
    """Why there is no page; `transient` where that may pass by itself, `reason` its code, if it has one."""

    def __init__(self, sentence: str, *, transient: bool, reason: str = "") -> None:
        self.sentence, self.transient, self.reason = sentence, transient, reason


def problem_of(code: str, url: str, status: int = 0) -> Problem:
    """Return what a code of the browser means for a page that was asked for; `status` if there was an answer."""
    if status >= 400 or status in WITHOUT_BODY:
        may_pass = status >= 500 or status in MAY_PASS
        return Problem(f"the server answered {status} without a page", transient=may_pass, reason="no_page")
    if code.startswith(OF_PROXY) and (said := _last_egress_failure(url)):
        reason, transient = OF_THE_WAY_OUT.get(said["reason"], ("", True))
        return Problem(said["message"], transient=transient, reason=reason)
    for table, transient in ((_PERMANENT, False), (_TRANSIENT, True)):
        for prefix, reason, meaning in table:
            if code.startswith(prefix):
                return Problem(f"{meaning} ({code})", transient=transient, reason=reason)
    return Problem(code, transient=True)


def _last_egress_failure(url: str) -> dict[str, Any] | None:
    """Return the latest refusal or failure that the crawl's log of connections has for the place of a URL."""
    path = os.path.join(os.environ.get("CRAWL_OUTPUT_DIR", ""), "egress", "connections.jsonl")
    parts = urllib.parse.urlsplit(url)
    place = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - LOG_TAIL))
            lines = file.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return None
    for line in reversed(lines):
        said = record_in(line)
        if said.get("event") in ("refused", "failed") and (said.get("host"), said.get("port")) == place:
            return said
    return None
