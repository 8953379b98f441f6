"""Owns what it takes for a request to reach the app: a body that is whole, not too large nor too slow, and its turn."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.template.loader import render_to_string

from archivebox.lib.problem_details import CONTENT_TYPE, problem

BODY_MOST = 10_000_000
"""Bytes of a form: 100,000 lines of 100 characters."""
UPLOAD_MOST = 64_000_000
"""Bytes that who may upload files sends at most: no list that is read as a whole is larger."""
BODY_TIME = 120.0
"""Seconds that a body may take to arrive; nobody but its sender waits for it."""
MAX_CONCURRENT = 16
"""Requests that the app answers at a time: each costs a thread and a database connection."""
POLICY = b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'"
"""What the page of a refusal may load: the look of the app."""
_IN_MEMORY = 64 * 1024
"""Bytes of a body that are not written to a temporary file."""

Message = Mapping[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
MayUpload = Callable[[Scope], Awaitable[bool]]


async def nobody(_scope: Scope) -> bool:
    return False


class _TooLargeError(Exception):
    """More bytes than a body may have: so many."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = most


class _GoneError(Exception):
    """The visitor has left before the body was whole."""


class RequestGate:
    """Reads bodies on the event loop, where waiting costs nothing, and only then has the app take a thread."""

    def __init__(self, app: Application, may_upload: MayUpload = nobody) -> None:
        """``may_upload``: who may send more than a form holds; asked where somebody announces to do so."""
        self._app = app
        self._may_upload = may_upload
        self._turns = asyncio.Semaphore(MAX_CONCURRENT)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with SpooledTemporaryFile(_IN_MEMORY) as body:
            try:
                await asyncio.wait_for(self._read(scope, receive, body), BODY_TIME)
            except _TooLargeError as error:
                sentence = (
                    f"{error.most // 1_000_000} MB is the limit. Use `archivebox add --file` for longer lists of URLs."
                )
                await _refuse(scope, send, 413, "Request too large", sentence)
            except TimeoutError:
                sentence = f"It did not arrive within {BODY_TIME:.0f} s. Try again, or send less at once."
                await _refuse(scope, send, 408, "Request timed out", sentence)
            except _GoneError:
                return
            else:
                async with self._turns:
                    await self._app(scope, _again(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive, body: IO[bytes]) -> None:
        """_TooLargeError before its first byte where it says so itself."""
        text = dict(scope["headers"]).get(b"content-length", b"")
        announced = int(text) if text.isdigit() else 0
        most = UPLOAD_MOST if announced > BODY_MOST and await self._may_upload(scope) else BODY_MOST
        if announced > most:
            raise _TooLargeError(most)
        await _read(receive, body, most)


async def _read(receive: Receive, body: IO[bytes], most: int) -> None:
    """Put the body into ``body``."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        if body.tell() + len(message.get("body", b"")) > most:
            raise _TooLargeError(most)
        body.write(message.get("body", b""))
        if not message.get("more_body", False):
            body.seek(0)
            return


def _again(body: IO[bytes], receive: Receive) -> Receive:
    """What the app receives: the body that was read, and then whatever else comes (that the visitor has left)."""
    is_whole = False

    async def from_the_start() -> Message:
        nonlocal is_whole
        if is_whole:
            return await receive()
        part = body.read(_IN_MEMORY)
        is_whole = len(part) < _IN_MEMORY
        return {"type": "http.request", "body": part, "more_body": not is_whole}

    return from_the_start


async def _refuse(scope: Scope, send: Send, status: int, title: str, sentence: str) -> None:
    """As a page for who reads pages, else as problem details (RFC 9457), as the API does."""
    if b"text/html" in dict(scope["headers"]).get(b"accept", b""):
        kind, body = "text/html", str(render_to_string("web/error.html", {"title": title, "sentence": sentence}))
    else:
        kind, body = CONTENT_TYPE, json.dumps(problem(status, f"{title}: {sentence}", title=title))
    headers = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-security-policy", POLICY),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
