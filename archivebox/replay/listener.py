"""Owns the answers of the replay listener: files of one snapshot to whoever has its capability, and nothing else.

It reads no cookie and sets none, knows no log-in and no form. It speaks RSGI, so that files go out as they are read.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]  # exported by use, not by name

from archivebox.replay import capability
from archivebox.replay.capability import Capability, Purpose
from archivebox.replay.files import NotThereError, Opened, list_folder, open_beneath, parse_range, split_path
from archivebox.replay.origins import policy, snapshot_of_host
from archivebox.replay.pages import error_page, listing_page

log = logging.getLogger("archivebox.replay")

CHUNK = 256 * 1024
"""Bytes read at a time."""
_GONE = ("Not here", "There is no such file in this snapshot.")
_EXPIRED = ("This address has expired", "Open the snapshot in ArchiveBox again to get a fresh one.")

_UNKNOWN = ("Not a name of this server", "Add the name to ALLOWED_HOSTS if it is yours.")
_FRAMES = frozenset({"iframe", "frame"})

LookUp = Callable[[Capability], Path | None]


class EndedError(Exception):
    """The viewer to whom a capability was given has logged out, or may not look any more."""


class Headers(Protocol):
    def get(self, key: str) -> str | None: ...


class Scope(Protocol):
    """What granian tells of a request."""

    method: str
    path: str
    authority: str | None

    @property
    def headers(self) -> Headers: ...


class Transport(Protocol):
    async def send_bytes(self, data: bytes) -> None: ...


class Exchange(Protocol):
    """How granian takes an answer."""

    def response_empty(self, status: int, headers: list[tuple[str, str]]) -> None: ...
    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None: ...
    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> Transport: ...


class Listener:
    """The application: ``look_up`` says which folder a capability opens now, and may block (EndedError: none any more).

    ``is_known_host`` says whether a name in a request is one of ours.
    """

    def __init__(self, look_up: LookUp, is_known_host: Callable[[str], bool], app_url: str = "") -> None:
        self._look_up = look_up
        self._is_known_host = is_known_host
        self._app_url = app_url

    async def __rsgi__(self, scope: Scope, exchange: Exchange) -> None:
        host = scope.headers.get("host") or scope.authority or ""
        is_known = self._is_known_host(host)
        answer = Answer(exchange, host if is_known else "", self._app_url, head=scope.method == "HEAD")
        if not is_known:
            answer.error(400, *_UNKNOWN)
            return
        if scope.method not in {"GET", "HEAD"}:
            answer.error(405, "Only reading is possible here", "Archived pages take no forms.")
            return
        try:
            await self._answer(scope, host, answer)
        except NotThereError:
            answer.error(404, *_GONE)
        except EndedError:
            answer.error(403, *_EXPIRED)

    async def _answer(self, scope: Scope, host: str, answer: "Answer") -> None:
        token, _, path = scope.path.lstrip("/").partition("/")
        names = split_path(path)
        right = capability.read(token, "/".join(names))
        own = snapshot_of_host(host)
        if right is None or (own is not None and own != right.snapshot_id):
            raise EndedError
        # As a tab of its own a page with scripts can send what it sees anywhere; a frame of ours cannot be led away.
        answer.scripts = right.purpose is Purpose.SCRIPTS and scope.headers.get("sec-fetch-dest") in _FRAMES
        folder = await asyncio.to_thread(self._look_up, right)
        if folder is None:
            raise NotThereError
        opened = await asyncio.to_thread(open_beneath, folder, names)
        try:
            if opened.is_folder:
                await self._folder(answer, scope, names, opened)
            else:
                await answer.file(opened, scope.headers)
        finally:
            os.close(opened.descriptor)

    async def _folder(self, answer: "Answer", scope: Scope, names: list[str], opened: Opened) -> None:
        if not scope.path.endswith("/"):
            answer.redirect(scope.path.rpartition("/")[2] + "/")
            return
        answer.page(200, listing_page(names, await asyncio.to_thread(list_folder, opened.descriptor)))


class Answer:
    """One answer, with the headers that every answer has."""

    def __init__(self, exchange: Exchange, host: str, app_url: str, *, head: bool) -> None:
        self._exchange = exchange
        self._host = host
        self._app_url = app_url
        self._head = head
        self.scripts = False

    def _headers(self, mimetype: str, **more: str) -> list[tuple[str, str]]:
        return [
            ("content-type", _with_charset(mimetype)),
            ("content-security-policy", policy(self._host, mimetype, self._app_url, scripts=self.scripts)),
            ("vary", "sec-fetch-dest"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-dns-prefetch-control", "off"),
            ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()"),
            *((name.replace("_", "-"), value) for name, value in more.items()),
        ]

    def error(self, status: int, title: str, sentence: str) -> None:
        self.page(status, error_page(title, sentence))

    def page(self, status: int, body: bytes) -> None:
        headers = self._headers("text/html; charset=utf-8", cache_control="no-store")
        self._exchange.response_bytes(status, headers, b"" if self._head else body)

    def redirect(self, address: str) -> None:
        self._exchange.response_empty(302, [*self._headers("text/html"), ("location", f"./{address}")])

    async def file(self, opened: Opened, asked: Headers) -> None:
        kept = "no-store" if self.scripts else "private, max-age=300"
        more = {"etag": opened.etag, "accept_ranges": "bytes", "cache_control": kept}
        if asked.get("if-none-match") == opened.etag:
            self._exchange.response_empty(304, self._headers(opened.mimetype, **more))
            return
        try:
            part = _wanted_part(asked, opened)
        except ValueError:
            headers = self._headers(opened.mimetype, content_range=f"bytes */{opened.size}")
            self._exchange.response_empty(416, headers)
            return
        start, end = part or (0, opened.size)
        more["content_length"] = str(end - start)
        if part:
            more["content_range"] = f"bytes {start}-{end - 1}/{opened.size}"
        await self._send(206 if part else 200, self._headers(opened.mimetype, **more), opened.descriptor, start, end)

    async def _send(self, status: int, headers: list[tuple[str, str]], fd: int, start: int, end: int) -> None:
        if self._head:
            self._exchange.response_empty(status, headers)
        elif end - start <= CHUNK:
            self._exchange.response_bytes(status, headers, await asyncio.to_thread(os.pread, fd, end - start, start))
        else:
            await self._stream(self._exchange.response_stream(status, headers), fd, start, end)

    async def _stream(self, transport: Transport, fd: int, start: int, end: int) -> None:
        while start < end:
            block = await asyncio.to_thread(os.pread, fd, min(CHUNK, end - start), start)
            if not block:  # the file was cut while we read it
                return
            try:
                await transport.send_bytes(block)
            except ProtocolClosed as error:
                log.info("The reader went away: %s", error, extra={"action": "replay_reader_gone"})
                return
            start += len(block)


def _wanted_part(asked: Headers, opened: Opened) -> tuple[int, int] | None:
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
