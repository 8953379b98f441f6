"""Owns how an answer of the replay listener is sent: with the headers that every one has, whole or as a stream."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]  # exported by use, not by name

from archivebox.lib.object_store import ObjectStoreError
from archivebox.replay import capability
from archivebox.replay.files import PageFile, parse_range
from archivebox.replay.origins import NOBODY, policy
from archivebox.replay.pages import HTML, error_page
from archivebox.replay.recorded import Reply

log = logging.getLogger("archivebox.replay")

Read = Callable[[int], bytes]

CHUNK = 256 * 1024
"""Bytes read at a time."""


class Headers(Protocol):
    def get(self, key: str) -> str | None: ...


class Transport(Protocol):
    async def send_bytes(self, data: bytes) -> None: ...


class HttpExchange(Protocol):
    """How granian takes an answer."""

    def response_empty(self, status: int, headers: list[tuple[str, str]]) -> None: ...
    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None: ...
    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> Transport: ...


class ReplayResponse:
    """One answer. ``scripts``: whether the page's own may run; ``links``: whether those of the page leave its frame.

    ``is_picture``: whether it is one picture of a list. ``is_shared``: whether a share link shows it.
    ``is_shared_font_or_mask``: whether a page whose origin is nobody's asks for it, as something to show: see
    :func:`archivebox.replay.origins.is_shared_font_or_mask`. ``is_clean``: see :class:`Reply`.
    """

    def __init__(self, exchange: HttpExchange, host: str, app_url: str, *, head: bool) -> None:
        self._exchange = exchange
        self._host = host
        self._app_url = app_url
        self._head = head
        self.scripts = False
        self.links = False
        self.is_picture = False
        self.is_shared = False
        self.is_shared_font_or_mask = False
        self.is_clean = False

    def _headers(self, mimetype: str, **more: str) -> list[tuple[str, str]]:
        return [
            ("content-type", mimetype),
            ("content-security-policy", self._policy(mimetype)),
            ("vary", "sec-fetch-dest"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", self._referrer_policy),
            ("x-robots-tag", "noindex, nofollow"),
            ("x-dns-prefetch-control", "off"),
            ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()"),
            *((name.replace("_", "-"), value) for name, value in more.items()),
            *([("access-control-allow-origin", NOBODY)] if self.is_shared_font_or_mask else []),
        ]

    def _policy(self, mimetype: str) -> str:
        return policy(
            self._host, mimetype, self._app_url, scripts=self.scripts, links=self.links, is_clean=self.is_clean
        )

    @property
    def _referrer_policy(self) -> str:
        return "no-referrer"

    @property
    def _kept(self) -> str:
        """How long a browser may keep a file: a picture of lists for as long as its address stays the same."""
        if self.scripts or self.is_shared:  # nothing of it is there when the link is revoked
            return "no-store"
        return f"private, max-age={capability.STEP if self.is_picture else 300}"

    def error(self, status: int, title: str, sentence: str, *, retry_after: int = 0) -> None:
        """``retry_after``: seconds; 0: nothing is said of it."""
        more = {"retry_after": str(retry_after)} if retry_after else {}
        self.page(status, error_page(title, sentence), **more)

    def page(self, status: int, body: bytes, **more: str) -> None:
        headers = self._headers(HTML, cache_control="no-store", **more)
        self._exchange.response_bytes(status, headers, b"" if self._head else body)

    def redirect(self, address: str) -> None:
        self._exchange.response_empty(302, [*self._headers("text/html"), ("location", f"./{address}")])

    async def file(self, opened: PageFile, asked: Headers) -> None:
        mimetype = _with_charset(opened.mimetype)
        more = {"etag": opened.etag, "accept_ranges": "bytes", "cache_control": self._kept}
        if asked.get("if-none-match") == opened.etag:
            self._exchange.response_empty(304, self._headers(mimetype, **more))
            return
        try:
            part = _wanted_part(asked, opened)
        except ValueError:
            headers = self._headers(mimetype, content_range=f"bytes */{opened.size}")
            self._exchange.response_empty(416, headers)
            return
        start, end = part or (0, opened.size)
        if part:
            more["content_range"] = f"bytes {start}-{end - 1}/{opened.size}"
        headers = self._headers(mimetype, **more)
        await self._send(206 if part else 200, headers, end - start, opened.reader(start, end))

    async def reply(self, reply: Reply) -> None:
        """Send what was recorded."""
        self.is_clean = reply.is_clean
        headers = self._headers(reply.mimetype, **{"cache_control": self._kept, **reply.headers})
        await self._send(reply.status, headers, reply.size, reply.read)

    async def _send(self, status: int, headers: list[tuple[str, str]], size: int, read: Read) -> None:
        headers.append(("content-length", str(size)))
        if self._head or not size:
            self._exchange.response_empty(status, headers)
        elif size <= CHUNK:
            self._exchange.response_bytes(status, headers, await asyncio.to_thread(read, size))
        else:
            block = await asyncio.to_thread(read, CHUNK)  # what fails at once is answered with an error
            await self._stream(self._exchange.response_stream(status, headers), block, size - len(block), read)

    async def _stream(self, transport: Transport, block: bytes, left: int, read: Read) -> None:
        """Send a block, and what is left. Where that ends too soon, the reader sees it by the length."""
        try:
            while block:  # none: the file was cut while we read it
                await transport.send_bytes(block)
                block = await asyncio.to_thread(read, min(CHUNK, left)) if left else b""
                left -= len(block)
        except ProtocolClosed as error:
            log.info("The reader went away: %s", error, extra={"action": "replay_reader_gone"})
        except ObjectStoreError as error:
            log.warning("%s action=store_failed", error)


def _wanted_part(asked: Headers, opened: PageFile) -> tuple[int, int] | None:
    """What of the file is asked for; all of it when the reader's part is of another version (If-Range)."""
    header = asked.get("range")
    if not header or asked.get("if-range") not in {None, opened.etag}:
        return None
    return parse_range(header, opened.size)


def _with_charset(mimetype: str) -> str:
    """Text that cannot name its own encoding is what hooks write: UTF-8. Archived HTML names its own."""
    own = {"text/html", "text/css", "text/javascript"}
    return (
        f"{mimetype}; charset=utf-8"
        if mimetype.startswith("text/") and mimetype not in own and ";" not in mimetype
        else mimetype
    )
