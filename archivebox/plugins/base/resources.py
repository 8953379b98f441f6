"""What is behind a URL of the page: as it was recorded, else as the browser fetches it for the page.

The browser's fetch has the page's proxy, cookies, cache and rules, and is recorded nowhere.
"""

from __future__ import annotations

import base64
import os

from archivebox.plugins import base
from archivebox.plugins.base.cdp import CDPConnection, CommandFailed
from archivebox.plugins.base.responses import Archive

CSS = "text/css"
SAY_THEIR_CHARSET = (b"\xef\xbb\xbf", b'@charset "')
IMPORTS_MAX = 5  # style sheets within one another

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params
    from archivebox.plugins.base.responses import Response
    from archivebox.plugins.base.tab import Tab


class Resource:
    """What came back for a URL; `type` is the Content-Type."""

    __slots__ = ("body", "status", "type")

    def __init__(self, status: int, type: str, body: bytes) -> None:  # noqa: A002  (the header's own word)
        self.status, self.type, self.body = status, type, body


class Resources:
    """What a hook asks for on behalf of the page of `tab`."""

    def __init__(self, tab: Tab) -> None:
        self._tab, self._archive = tab, Archive()

    def get(self, url: str, limit: int) -> Resource | None:
        """Return what is behind a URL; None where nothing is, or more than `limit` bytes."""
        if not url.startswith(("http://", "https://")):
            return None
        recorded = self._archive.find(url)
        if recorded is None or _broke_off(recorded):
            return self._fetch(url, limit)
        if recorded.truncated or recorded.size > limit:
            return None
        body = self._archive.body(recorded)
        return Resource(recorded.status, self._type_of(recorded, body), body)

    def has_whole(self, urls: list[str], limit: int) -> bool:
        """Return whether each of these was recorded from its first byte to its last, at most `limit` bytes together."""
        found = [self._archive.find(url) for url in urls]
        whole = [one.size for one in found if one is not None and not one.truncated and one.status < 400]
        return len(whole) == len(urls) and sum(whole) <= limit

    def fonts(self) -> list[str]:
        """Return the URLs of the fonts that were recorded, in the order of their ends."""
        found = (one for one in self._archive.latest() if one.record.get("type") == "Font" or "font" in one.mime)
        return list(dict.fromkeys(one.url for one in found))

    def _type_of(self, recorded: Response, body: bytes) -> str:
        """A style sheet that says its charset nowhere has that of the document that uses it (CSS Syntax 3, 3.2)."""
        said = self._archive.content_type(recorded)
        is_silent = recorded.mime == CSS and "charset" not in said.lower() and not body.startswith(SAY_THEIR_CHARSET)
        charset = self._charset_of_user(recorded) if is_silent else ""
        return f"{CSS};charset={charset}" if charset else said

    def _charset_of_user(self, recorded: Response) -> str:
        user: Response | None = recorded
        for _ in range(IMPORTS_MAX):
            url = str(user.record.get("initiator", "")) if user else ""
            if charset := self._archive.facts(url).charset:
                return charset
            user = self._archive.find(url)
        return ""

    def _fetch(self, url: str, limit: int) -> Resource | None:
        """The page's Content-Security-Policy says where its scripts may fetch from, and holds for this, too.

        What it refuses is fetched from an empty tab.
        """
        try:
            return _load(self._tab.connection, self._tab.target_id, url, limit)
        except CommandFailed as error:
            if str(error) != "CSP violation":
                return None  # not an address, or none that the browser goes to
        return _load_elsewhere(self._tab, url, limit)


def _broke_off(recorded: Response) -> bool:
    """Whether the body lacks its end for another reason than its length: with a tab that was killed, for one."""
    return recorded.truncated not in ("", "length")


def _load(connection: CDPConnection, frame: str, url: str, limit: int) -> Resource | None:
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
    return None if body is None else Resource(answer["httpStatusCode"], headers.get("content-type", ""), body)


def _read(connection: CDPConnection, handle: str, limit: int) -> bytes | None:
    body = bytearray()
    while len(body) <= limit:
        part = connection.call("IO.read", {"handle": handle})
        body += base64.b64decode(part["data"]) if part.get("base64Encoded") else part["data"].encode()
        if part["eof"]:
            return bytes(body)
    return None


def _load_elsewhere(tab: Tab, url: str, limit: int) -> Resource | None:
    """Fetch from a tab of our own, which the crawl's browser closes should we not come to it (`HOLDER` there)."""
    mark = f"about:blank#archivebox-{os.getpid()}-{base.start_ticks(os.getpid())}"
    target = tab.call("Target.createTarget", {"url": mark, "background": True})["targetId"]
    connection = CDPConnection.open(tab.socket, target)
    try:
        agent = tab.evaluate("navigator.userAgent")
        connection.call("Network.setUserAgentOverride", {"userAgent": agent})
        return _load(connection, target, url, limit)
    except CommandFailed:
        return None
    finally:
        connection.close()
        tab.connection.send("Target.closeTarget", {"targetId": target})
