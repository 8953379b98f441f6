"""Owns how an answer of the replay listener is sent: with the headers that every one has, whole or as a stream."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

from archivebox.lib.object_store import ObjectStoreError
from archivebox.replay import capability
from archivebox.replay.addresses import NOBODY, policy
from archivebox.replay.files import PageFile, parse_range
from archivebox.replay.pages import HTML, error_page
from archivebox.replay.recorded import Reply
from archivebox.replay.rewritten import MAX_REWRITERS, LargeDocumentError

log = logging.getLogger("archivebox.replay")

Read = Callable[[int], bytes]

CHUNK = 256 * 1024
"""Bytes read at a time."""
_large = ThreadPoolExecutor(MAX_REWRITERS, thread_name_prefix="large")


Message = dict[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = dict[str, str]
"""Those of a request; names in lower case."""


def headers_of(scope: Scope) -> Headers:
    """The first of each name."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}


def target_of(scope: Scope) -> str:
    """The path and query of a request as they were sent: ``path`` is decoded, and does not tell ``%2F`` from ``/``."""
    path, query = scope["raw_path"].decode(), scope["query_string"].decode()  # granian lets only ASCII in
    return f"{path}?{query}" if query else path


class ReplayResponse:
    """One answer. ``asked``: the headers of its request. ``scripts``: whether the page's own may run.

    ``links``: whether those of the page leave its frame. ``is_picture``: whether it is one file, as pictures of lists.
    ``is_shared``: whether a share link shows it. ``is_shared_font_or_mask``: whether a page whose origin is nobody's
    asks for it, as something to show: see :func:`archivebox.replay.addresses.is_shared_font_or_mask`. ``is_clean``: see
    :class:`Reply`.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, host: str, app_url: str) -> None:
        self.asked = headers_of(scope)
        self._receive = receive
        self._send = send
        self._host = host
        self._app_url = app_url
        self._head = scope["method"] == "HEAD"
        self.scripts = False
        self.links = False
        self.is_picture = False
        self.is_shared = False
        self.is_shared_font_or_mask = False
        self.is_clean = False

    def _headers(self, mimetype: str, policy: str = "", **more: str) -> list[tuple[str, str]]:
        return [
            ("content-type", mimetype),
            ("content-security-policy", policy or self._policy(mimetype)),
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

    async def error(self, status: int, title: str, sentence: str, *, retry_after: int = 0) -> None:
        """``retry_after``: seconds; 0: nothing is said of it."""
        more = {"retry_after": str(retry_after)} if retry_after else {}
        await self.page(status, error_page(title, sentence), **more)

    async def page(self, status: int, body: bytes, **more: str) -> None:
        headers = self._headers(HTML, cache_control="no-store", **more)
        await self._whole(status, headers, b"" if self._head else body)

    async def redirect(self, address: str) -> None:
        await self._whole(302, [*self._headers("text/html"), ("location", f"./{address}")])

    async def file(self, opened: PageFile) -> None:
        mimetype = _with_charset(opened.mimetype)
        more = {"etag": opened.etag, "accept_ranges": "bytes", "cache_control": self._kept}
        if self.asked.get("if-none-match") == opened.etag:
            await self._whole(304, self._headers(mimetype, **more))
            return
        try:
            part = _wanted_part(self.asked, opened)
        except ValueError:
            headers = self._headers(mimetype, content_range=f"bytes */{opened.size}")
            await self._whole(416, headers)
            return
        start, end = part or (0, opened.size)
        if part:
            more["content_range"] = f"bytes {start}-{end - 1}/{opened.size}"
        headers = self._headers(mimetype, **more)
        await self._blocks(206 if part else 200, headers, end - start, opened.reader(start, end))

    async def reply(self, reply: Reply) -> None:
        """Send what was recorded."""
        self.is_clean = reply.is_clean
        policy = reply.policy(self._policy(reply.mimetype))
        headers = self._headers(reply.mimetype, policy, **{"cache_control": self._kept, **reply.headers})
        await self._blocks(reply.status, headers, reply.size, reply.read)

    async def _begin(self, status: int, headers: list[tuple[str, str]]) -> None:
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def _whole(self, status: int, headers: list[tuple[str, str]], body: bytes = b"") -> None:
        await self._begin(status, headers)
        await self._send({"type": "http.response.body", "body": body})

    async def _blocks(self, status: int, headers: list[tuple[str, str]], size: int, read: Read) -> None:
        headers.append(("content-length", str(size)))
        if self._head or not size:
            await self._whole(status, headers)
        elif size <= CHUNK:
            await self._whole(status, headers, await asyncio.to_thread(read, size))
        else:
            block = await asyncio.to_thread(read, CHUNK)  # what fails at once is answered with an error
            await self._begin(status, headers)
            await self._stream(block, size - len(block), read)

    async def _stream(self, block: bytes, left: int, read: Read) -> None:
        """Send a block, and what is left. Where that ends too soon, the reader sees it by the length."""
        gone = asyncio.create_task(self._reader_left())
        try:
            while block and not gone.done():  # none: the file was cut while we read it
                await self._send({"type": "http.response.body", "body": block, "more_body": bool(left)})
                block = await asyncio.to_thread(read, min(CHUNK, left)) if left else b""
                left -= len(block)
        except ObjectStoreError as error:
            log.warning("%s action=store_failed", error)
        finally:
            gone.cancel()

    async def _reader_left(self) -> None:
        """Wait for it: what is sent to nobody is taken without an error."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


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


class Make(Protocol):
    """Makes an answer. LargeDocumentError where it takes a large document that is not ready, unless ``apart``."""

    def __call__(self, *, apart: bool = False) -> Reply: ...


async def run_in_turn(make: Make) -> Reply:
    """What ``make`` returns: at once where it is ready, or takes little; else when it is its turn."""
    try:
        return await asyncio.to_thread(make)
    except LargeDocumentError:
        return await asyncio.get_running_loop().run_in_executor(_large, partial(make, apart=True))
