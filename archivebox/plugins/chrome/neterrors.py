"""Why a page could not be had, in words for people, and whether another time may be different.

The codes are Chromium's (net/base/net_error_list.h). Where the crawl's way out refused or failed, its log has more to
say than the browser, which sees only that its proxy made no connection.
"""

from __future__ import annotations

import json
import os
import urllib.parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOG_TAIL = 1 << 16  # bytes of the log in which the connection is looked for: it was the last but a few
OF_PROXY = ("net::ERR_SOCKS", "net::ERR_PROXY", "net::ERR_TUNNEL")
FOR_GOOD = frozenset({"private_address", "size_reached", "no_such_name", "unreachable", "bad_request"})
"""What the way out says of connections that will not be made another time either."""
_PERMANENT = (
    ("net::ERR_NAME_NOT_RESOLVED", "there is no host of that name"),
    ("net::ERR_CONNECTION_REFUSED", "nobody answers at that address and port"),
    ("net::ERR_TOO_MANY_REDIRECTS", "it redirects in circles"),
    ("net::ERR_CERT_DATE_INVALID", "the server's certificate has expired or is not valid yet"),
    ("net::ERR_CERT_COMMON_NAME_INVALID", "the server's certificate is for another name"),
    ("net::ERR_CERT_AUTHORITY_INVALID", "the server's certificate is from nobody who is trusted"),
    ("net::ERR_CERT_", "the server's certificate is not valid"),
    ("net::ERR_SSL_", "no secure connection could be agreed on"),
    ("net::ERR_INVALID_HTTP_RESPONSE", "what the server says is not HTTP"),
    ("net::ERR_RESPONSE_HEADERS_", "the headers of the server's answer contradict each other or are too long"),
    ("net::ERR_CONTENT_DECODING", "the server's answer cannot be unpacked"),
    ("net::ERR_UNSAFE_PORT", "browsers open no pages at that port"),
    ("net::ERR_BLOCKED_BY_", "it is blocked"),
    ("net::ERR_INVALID_", "there is no such address"),
)
_TRANSIENT = (
    ("net::ERR_CONNECTION_TIMED_OUT", "the server did not answer"),
    ("net::ERR_TIMED_OUT", "the server did not answer"),
    ("net::ERR_DNS_TIMED_OUT", "its name could not be looked up"),
    ("net::ERR_ADDRESS_UNREACHABLE", "there is no way to the server"),
    ("net::ERR_INTERNET_DISCONNECTED", "there is no network"),
    ("net::ERR_NETWORK_CHANGED", "the network changed on the way"),
    ("net::ERR_EMPTY_RESPONSE", "the server hung up without an answer"),
    ("net::ERR_CONNECTION_", "the server broke the connection off"),
    ("net::ERR_INCOMPLETE_CHUNKED", "the server broke the connection off"),
    ("net::ERR_CONTENT_LENGTH_MISMATCH", "the server broke the connection off"),
    ("net::ERR_HTTP2_", "the server broke the connection off"),
)
WITHOUT_BODY = frozenset({204, 205, 304})  # answers that leave the page as it was (RFC 9110, 15.3 and 15.4)
MAY_PASS = frozenset({408, 425, 429})  # and all above 499 (RFC 9110, 15.5 and 15.6; RFC 6585, 4; RFC 8470, 5.2)


class Problem:
    """Why there is no page; `transient` where that may pass by itself."""

    def __init__(self, sentence: str, *, transient: bool) -> None:
        self.sentence, self.transient = sentence, transient


def problem_of(code: str, url: str, status: int = 0) -> Problem:
    """Return what a code of the browser means for a page that was asked for; `status` if there was an answer."""
    if status >= 400 or status in WITHOUT_BODY:
        return Problem(f"the server answered {status} without a page", transient=status >= 500 or status in MAY_PASS)
    if code.startswith(OF_PROXY) and (said := _last_word_of_the_way_out(url)):
        return Problem(said["message"], transient=said["reason"] not in FOR_GOOD)
    for table, transient in ((_PERMANENT, False), (_TRANSIENT, True)):
        for prefix, meaning in table:
            if code.startswith(prefix):
                return Problem(f"{meaning} ({code})", transient=transient)
    return Problem(code, transient=True)


def _last_word_of_the_way_out(url: str) -> dict[str, Any] | None:
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
        said = _parsed(line)
        if said.get("event") in ("refused", "failed") and (said.get("host"), said.get("port")) == place:
            return said
    return None


def _parsed(line: bytes) -> dict[str, Any]:
    """Return a line of the log; nothing for the first, which may be torn."""
    try:
        said: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return said
