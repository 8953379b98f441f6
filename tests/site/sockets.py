"""Owns the WebSocket of the local web: it greets, and says back what it is told (RFC 6455)."""

from __future__ import annotations

import base64
import hashlib

from tests.site.wire import Request

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE = 0x81, 0x82, 0x88


def socket(request: Request) -> None:
    """Greet in text, answer each message in bytes, until the page closes."""
    key = request.headers["sec-websocket-key"].encode()
    accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
    stream = request.connection.makefile("rwb")
    stream.write(head + accept + b"\r\n\r\n" + _frame(TEXT, b"hello"))
    stream.flush()
    while len(start := stream.read(2)) == 2 and start[0] != CLOSE:
        mask, said = stream.read(4), stream.read(start[1] & 0x7F)
        stream.write(_frame(BINARY, bytes(byte ^ mask[place % 4] for place, byte in enumerate(said))))
        stream.flush()


def _frame(kind: int, payload: bytes) -> bytes:
    """One short frame without a mask, as servers send them."""
    return bytes((kind, len(payload))) + payload
