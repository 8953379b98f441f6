"""Owns sending one message by HTTP POST (RFC 9112) where the rules let it go; of the answer, its head is read."""

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from archivebox.lib.egress.dialing import DialedConnection, Dialer
from archivebox.lib.egress.proxy_requests import Endpoint
from archivebox.lib.retry_after import seconds_of
from archivebox.lib.urls import Url

_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: |\r)")
_RETRY_AFTER = re.compile(rb"\r\nretry-after:[ \t]*([^\r\n]*)", re.IGNORECASE)
_INFORMATIONAL = range(100, 200)


class PostResponse(NamedTuple):
    """What the head of an answer says. ``retry_after``: seconds for which it wishes to be left alone."""

    status: int
    retry_after: int = 0


class BadAnswerError(OSError):
    """What came back is no answer in HTTP/1."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent where. Values of fields hold no line breaks: whoever makes one sees to it."""

    url: Url
    fields: Mapping[str, str]
    body: bytes

    @property
    def place(self) -> Endpoint:
        return Endpoint(self.url.host.strip("[]"), self.url.effective_port or 0)

    def written(self) -> bytes:
        path = self.url.without_fragment.split("/", 3)[3]
        fields = {"Host": self.url.domain_key, **self.fields, "Content-Length": len(self.body), "Connection": "close"}
        lines = [f"POST /{path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        return "\r\n".join(lines).encode("ascii") + self.body


async def post(dialer: Dialer, message: Message, seconds: float) -> PostResponse:
    """Send it, all within so many seconds. Redirects are answers like others.

    NotConnected where it may not or cannot go there; TimeoutError; OSError, IncompleteReadError and LimitOverrunError
    where the connection or the answer broke, SSLError among them.
    """
    async with asyncio.timeout(seconds):
        connection = await dialer.tunnel(message.place)
        try:
            return await _exchange(connection, message)
        finally:
            connection.writer.close()


async def _exchange(connection: DialedConnection, message: Message) -> PostResponse:
    reader, writer = connection.reader, connection.writer
    if message.url.scheme == "https":
        await writer.start_tls(system_ssl_context(), server_hostname=message.place.host)
    writer.write(message.written())
    await writer.drain()
    while (status := _status_of(head := await reader.readuntil(b"\r\n\r\n"))) in _INFORMATIONAL:
        pass
    return PostResponse(status, _retry_after_of(head))


def _status_of(head: bytes) -> int:
    found = _STATUS.match(head)
    if found is None:
        raise BadAnswerError("what came back is not an answer in HTTP/1")
    return int(found[1])


def _retry_after_of(head: bytes) -> int:
    found = _RETRY_AFTER.search(head)
    return seconds_of(found[1].decode("latin-1").strip()) if found else 0


@cache
def system_ssl_context() -> ssl.SSLContext:
    """Who is believed is read once: it costs 20 ms."""
    return ssl.create_default_context()
