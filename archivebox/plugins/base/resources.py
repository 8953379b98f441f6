"""What is behind a URL of the page, as the browser fetches it for the page: by its proxy, cookies, cache and rules."""

from __future__ import annotations

import base64
import os

from archivebox.plugins.base import start_ticks
from archivebox.plugins.base.cdp import CommandFailed, Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params
    from archivebox.plugins.base.tab import Tab


class Resource:
    """What came back for a URL; header names are in lower case."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body


def fetch(tab: Tab, url: str, limit: int) -> Resource | None:
    """Return what is behind a URL; None where nothing came, or more than `limit` bytes.

    The page's Content-Security-Policy says where its scripts may fetch from, and holds for this, too. What it refuses
    is fetched from an empty tab.
    """
    if not url.startswith(("http://", "https://")):
        return None
    try:
        return _load(tab.connection, tab.target_id, url, limit)
    except CommandFailed as error:
        if str(error) != "CSP violation":
            return None  # not an address, or none that the browser goes to
    return _load_elsewhere(tab, url, limit)


def _load(connection: Connection, frame: str, url: str, limit: int) -> Resource | None:
    options = {"disableCache": False, "includeCredentials": True}
    asked: Params = {"frameId": frame, "url": url, "options": options}
    answer = connection.call("Network.loadNetworkResource", asked)["resource"]
    if "stream" not in answer:
        return None
    try:
        body = _read(connection, answer["stream"], limit)
    finally:
        connection.send("IO.close", {"handle": answer["stream"]})
    headers = {name.lower(): value for name, value in answer.get("headers", {}).items()}
    return None if body is None else Resource(answer.get("httpStatusCode", 200), headers, body)


def _read(connection: Connection, handle: str, limit: int) -> bytes | None:
    body = bytearray()
    while len(body) <= limit:
        part = connection.call("IO.read", {"handle": handle})
        body += base64.b64decode(part["data"]) if part.get("base64Encoded") else part["data"].encode()
        if part["eof"]:
            return bytes(body)
    return None


def _load_elsewhere(tab: Tab, url: str, limit: int) -> Resource | None:
    """Fetch from a tab of our own, which the crawl's browser closes should we not come to it (`HOLDER` there)."""
    mark = f"about:blank#archivebox-{os.getpid()}-{start_ticks(os.getpid())}"
    target = tab.call("Target.createTarget", {"url": mark, "background": True})["targetId"]
    connection = Connection.open(tab.socket, target)
    try:
        agent = tab.evaluate("navigator.userAgent")
        connection.call("Network.setUserAgentOverride", {"userAgent": agent})
        return _load(connection, target, url, limit)
    except CommandFailed:
        return None
    finally:
        connection.close()
        tab.connection.send("Target.closeTarget", {"targetId": target})
