"""Owns what a client asks of the proxy, and how it is answered: HTTP in absolute form, CONNECT, and SOCKS 5.

One port speaks all three: a request of SOCKS 5 begins with the byte 5, one of HTTP with a letter. (RFC 9112, 3.2.2;
RFC 9110, 9.3.6; RFC 1928.) A client may say a password (RFC 7617; RFC 1929), and is never asked for one.
"""

import asyncio
import binascii
import re
import socket
import struct
from dataclasses import dataclass
from enum import Enum
from ipaddress import ip_address
from typing import NamedTuple

FAILED, NOT_ALLOWED, REFUSED, EXPIRED = 1, 2, 5, 6
"""Replies of SOCKS (RFC 1928, 6)."""


class NotConnectedReason(Enum):
    """A word for the log, the status of an answer in HTTP (RFC 9110), and the reply in SOCKS."""

    BAD_REQUEST = "bad_request", 400, FAILED
    PRIVATE_ADDRESS = "private_address", 403, NOT_ALLOWED
    SIZE_REACHED = "size_reached", 403, NOT_ALLOWED
    NO_SUCH_NAME = "no_such_name", 502, FAILED
    CONNECTION_REFUSED = "connection_refused", 502, REFUSED
    UNREACHABLE = "unreachable", 502, REFUSED
    PROXY_FAILED = "proxy_failed", 502, FAILED
    RULES_UNKNOWN = "rules_unknown", 503, FAILED
    TIMEOUT = "timeout", 504, EXPIRED

    def __init__(self, word: str, status: int, reply: int) -> None:
        self.word, self.status, self.reply = word, status, reply

    @property
    def is_refusal(self) -> bool:
        """Whether the rules of the crawl forbid it, so that it will not be otherwise another time."""
        return self.status == 403


class NotConnected(Exception):  # noqa: N818 - what happened, not what went wrong
    """There is no connection; the message is a sentence for people."""

    def __init__(self, why: NotConnectedReason, sentence: str) -> None:
        super().__init__(sentence)
        self.why = why
        self.sentence = sentence


HEAD_MAX = 64 * 1024
"""Bytes of the longest head that is read: the limit of the streams, and four times what servers take."""

_VERSION, _CONNECT = 5, 1
_NO_AUTHENTICATION, _BY_PASSWORD = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_HOST = re.compile(r"[A-Za-z0-9._~:%-]{1,253}")
_AUTHORIZATION = b"proxy-authorization:"
_OF_THE_HOP = (b"connection:", b"keep-alive:", b"proxy-")
"""Beginnings of header fields that are for the proxy alone."""


class Endpoint(NamedTuple):
    """A host (a name, or an address without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """Where a client wants to go."""

    place: Endpoint
    socks: bool = False
    request: "ForwardedRequest | None" = None
    """What is to be asked there; None: a tunnel is wanted, and both sides speak for themselves."""
    user: str = ""
    password: str = ""
    """What the client says of itself, right or wrong."""


@dataclass(frozen=True, slots=True)
class ForwardedRequest:
    """One HTTP request that is sent on; its connection ends with the answer, so that no second one follows it."""

    method: bytes
    url: bytes
    path: bytes
    fields: tuple[bytes, ...]
    body_size: int

    def head(self, *, absolute: bool = False, more: tuple[bytes, ...] = ()) -> bytes:
        """The head for the server itself, or for another proxy if ``absolute``."""
        line = b"%s %s HTTP/1.1" % (self.method, self.url if absolute else self.path)
        return b"\r\n".join((line, *self.fields, *more, b"Connection: close", b"", b""))


async def read_proxy_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> ProxyRequest:
    """What the client asks; NotConnected if it cannot be understood, IncompleteReadError if it went away."""
    first = await reader.readexactly(1)
    if first[0] == _VERSION:
        user, password = await _read_socks_user(reader, writer)
        return ProxyRequest(await _read_socks(reader), socks=True, user=user, password=password)
    try:
        head = first + await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise _bad(f"the head of the request is longer than {HEAD_MAX:,} bytes") from None
    line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, _, rest = line.partition(b" ")
    target, _, version = rest.rpartition(b" ")
    if not version.startswith(b"HTTP/1."):
        raise _bad("only HTTP/1 and SOCKS 5 are spoken here")
    user, password = _user_in(fields)
    if method == b"CONNECT":
        return ProxyRequest(_place(target, 0), user=user, password=password)
    place, request = _read_request(method, target, fields)
    return ProxyRequest(place, request=request, user=user, password=password)


def _read_request(method: bytes, url: bytes, fields: list[bytes]) -> tuple[Endpoint, ForwardedRequest]:
    scheme, colon, rest = url.partition(b"://")
    if not colon or scheme.lower() != b"http":
        raise _bad("a URL that begins with http:// is expected, or CONNECT")
    end = next((at for at, byte in enumerate(rest) if byte in b"/?#"), len(rest))
    path = rest[end:] if rest[end : end + 1] == b"/" else b"/" + rest[end:]
    kept = tuple(field for field in fields if not field.lower().startswith(_OF_THE_HOP))
    authority = rest[:end].rpartition(b"@")[2]
    url = b"http://%s%s" % (authority, path)  # written anew: another proxy reads no other host in it than we did
    return _place(authority, 80), ForwardedRequest(method, url, path, kept, _body_size(fields))


def _body_size(fields: list[bytes]) -> int:
    size = 0
    for field in fields:
        name, _, value = field.lower().partition(b":")
        if name == b"transfer-encoding":
            raise _bad("the body of a request needs a Content-Length here")
        if name == b"content-length":
            if not value.strip().isdigit():
                raise _bad("its Content-Length is not a number")
            size = int(value)
    return size


def _place(authority: bytes, default_port: int) -> Endpoint:
    text = authority.decode("latin-1")
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(default_port)
    if not port.isascii() or not port.isdigit():
        raise _bad(f"{text[:100]!r} has no port")
    return _checked(host.strip("[]"), int(port))


def _checked(host: str, port: int) -> Endpoint:
    if not _HOST.fullmatch(host) or not 0 < port < 65_536:
        raise _bad(f"{host[:100]!r} and {port} are not a host and port")
    host = host.lower().rstrip(".")
    try:
        return Endpoint(socket.inet_ntoa(socket.inet_aton(host)), port)  # 127.1, 0x7f000001, 2130706433
    except OSError:
        return Endpoint(host, port)


def _user_in(fields: list[bytes]) -> tuple[str, str]:
    """User and password of ``Proxy-Authorization: Basic``; empty where there are none, or none that can be read."""
    for field in fields:
        if field.lower().startswith(_AUTHORIZATION):
            scheme, _, credentials = field[len(_AUTHORIZATION) :].strip().partition(b" ")
            try:
                said = binascii.a2b_base64(credentials) if scheme.lower() == b"basic" else b""
            except binascii.Error:
                break
            user, _, password = said.decode("latin-1").partition(":")
            return user, password
    return "", ""


async def _read_socks_user(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, str]:
    """User and password of a client that offers to say them; every client is let in."""
    offered = await reader.readexactly((await reader.readexactly(1))[0])
    method = _BY_PASSWORD if _BY_PASSWORD in offered else _NO_AUTHENTICATION
    writer.write(bytes((_VERSION, method)))
    if method == _NO_AUTHENTICATION:
        return "", ""
    await reader.readexactly(1)  # the version of that negotiation
    user = await reader.readexactly((await reader.readexactly(1))[0])
    password = await reader.readexactly((await reader.readexactly(1))[0])
    writer.write(b"\x01\x00")
    return user.decode("latin-1"), password.decode("latin-1")


async def _read_socks(reader: asyncio.StreamReader) -> Endpoint:
    _, command, _, kind = await reader.readexactly(4)
    if kind == _NAME:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode("latin-1")
    elif kind in (_IPV4, _IPV6):
        host = str(ip_address(await reader.readexactly(4 if kind == _IPV4 else 16)))
    else:
        raise _bad(f"SOCKS knows no address of kind {kind}")
    (port,) = struct.unpack("!H", await reader.readexactly(2))
    if command != _CONNECT:
        raise _bad("of SOCKS only CONNECT is spoken here")
    return _checked(host, port)


def _bad(what: str) -> NotConnected:
    return NotConnected(NotConnectedReason.BAD_REQUEST, f"ArchiveBox's proxy could not understand this: {what}.")


def connected(asked: ProxyRequest) -> bytes:
    """What is said to a client whose tunnel stands."""
    return _socks_reply(0) if asked.socks else b"HTTP/1.1 200 Connected\r\n\r\n"


def not_connected(problem: NotConnected, *, socks: bool) -> bytes:
    """What is said to a client that is not connected; the status line has the sentence, as programs print that alone.

    ``Proxy-Status`` (RFC 9209) tells it from an answer of the site.
    """
    if socks:
        return _socks_reply(problem.why.reply)
    sentence = problem.sentence.encode("ascii", "replace").replace(b"\r", b"").replace(b"\n", b" ")
    fields = (
        b"HTTP/1.1 %d %s" % (problem.why.status, sentence),
        b"Proxy-Status: archivebox; error=%s" % problem.why.word.encode(),
        b"Content-Type: text/plain; charset=us-ascii",
        b"Content-Length: %d" % (len(sentence) + 1),
        b"Connection: close",
    )
    return b"\r\n".join(fields) + b"\r\n\r\n" + sentence + b"\n"


def _socks_reply(code: int) -> bytes:
    return bytes((_VERSION, code, 0, _IPV4, 0, 0, 0, 0, 0, 0))
