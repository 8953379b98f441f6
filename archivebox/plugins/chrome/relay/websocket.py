"""How messages are parted on a stream: in frames of a WebSocket (RFC 6455)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

from .channel import PeerRefused

REQUEST_MAX = 16 * 1024  # bytes of a WebSocket's opening request
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
CONTINUED, TEXT, CLOSE, PING, PONG = 0x0, 0x1, 0x8, 0x9, 0xA
FINAL, MASKED = 0x80, 0x80
REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class WebSocket:
    """The server's side of a WebSocket that only opens for who knows the secret, and never for a page.

    The path is `/devtools/browser/<secret>` or `/devtools/page/<target>/<secret>`; its first message is made of that:
    the greeting that a client of the other kind sends. `answer` is what protocol asks to be written at once.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._buffer = bytearray()
        self._open = False
        self._message = bytearray()
        self.answer = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that `data` completes. Raises PeerRefused, also for a closing frame."""
        self._buffer += data
        messages = [] if self._open else self._greeting()
        while self._open and (frame := self._next_frame()) is not None:
            kind, final, payload = frame
            if kind in (TEXT, CONTINUED):
                self._message += payload
                if final:
                    messages.append(bytes(self._message))
                    self._message.clear()
            elif kind == PING:
                self.answer += b"".join(_framed(PONG, payload))
            elif kind == CLOSE:
                raise PeerRefused(b"".join(_framed(CLOSE, payload[:2])))
        return messages

    def wrap(self, *parts: bytes) -> tuple[bytes, ...]:
        """Return what to write for a message that consists of `parts`."""
        return _framed(TEXT, *parts)

    def _greeting(self) -> list[bytes]:
        head, blank, rest = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            if len(head) > REQUEST_MAX:
                raise PeerRefused(REFUSAL)
            return []
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        target, key = self._target(first), headers.get("sec-websocket-key", "")
        if target is None or not key or "origin" in headers:  # a browser names the page's origin, a program has none
            raise PeerRefused(REFUSAL)
        self._buffer, self._open = rest, True
        accept = base64.b64encode(hashlib.sha1(key.encode() + GUID, usedforsecurity=False).digest())
        self.answer += b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.answer += b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        return [json.dumps({"target": target}).encode()]

    def _target(self, request_line: str) -> str | None:
        """Return the tab that is asked for, '' for the browser, None where the secret is wrong."""
        method, _, path = request_line.removesuffix(" HTTP/1.1").partition(" ")
        what, _, secret = path.rpartition("/")
        if method != "GET" or not hmac.compare_digest(secret.encode("latin-1"), self._secret.encode()):
            return None
        if what == "/devtools/browser":
            return ""
        return what.removeprefix("/devtools/page/") if what.startswith("/devtools/page/") else None

    def _next_frame(self) -> tuple[int, bool, bytes] | None:
        """Take a whole frame off the buffer: kind, whether the message ends with it, payload; None: not there yet."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        if not buffer[1] & MASKED:
            raise PeerRefused  # RFC 6455, 5.1: what a client sends is masked
        size, start = buffer[1] & 0x7F, 2
        if size > 125:
            start += 2 if size == 126 else 8
            size = int.from_bytes(buffer[2:start], "big")
        if len(buffer) < start + 4 + size:
            return None
        head, mask, payload = buffer[0], buffer[start : start + 4], buffer[start + 4 : start + 4 + size]
        del buffer[: start + 4 + size]
        return head & 0x0F, bool(head & FINAL), _unmasked(bytes(payload), bytes(mask))


def _framed(kind: int, *parts: bytes) -> tuple[bytes, ...]:
    size = sum(map(len, parts))
    if size < 126:
        length = bytes([size])
    elif size < 1 << 16:
        length = b"\x7e" + size.to_bytes(2, "big")
    else:
        length = b"\x7f" + size.to_bytes(8, "big")
    return (bytes([FINAL | kind]) + length, *parts)


def _unmasked(payload: bytes, mask: bytes) -> bytes:
    """Payload XOR the mask repeated, as one long number: 300 MB/s instead of 10 byte by byte."""
    size = len(payload)
    repeated = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
