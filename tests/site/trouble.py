"""Owns the pages that are slow, huge, broken or mislabelled."""

from __future__ import annotations

import os
import socket
import struct
import zlib
from collections.abc import Iterator
from functools import cache

from tests.site.static import static
from tests.site.wire import BINARY, TEXT, Request, Response, Route, page

MB = 1024 * 1024
PATIENCE_S = 600
"""Longest time a page keeps a client that does not leave."""
BOMB = 100 * MB
TRICKLE_BYTES, TRICKLE_S = 600, 0.1
NODES = 20_000
SLOW_PIECES = 64
ATTACHED = (("Content-Disposition", "attachment"),)


def slow(request: Request) -> Response | None:
    waited = request.number("ms", 1000, PATIENCE_S * 1000)
    if not request.stays(waited / 1000):
        return None
    return Response(page("Slow", f"<h1>Answered after {waited} ms</h1>"))


def never(request: Request) -> None:
    request.stays(PATIENCE_S)


def stall(request: Request) -> Response:
    """Headers and the first half of the body (`?bytes=`: so much of it), then silence."""
    whole = page("Stalled", "<h1>The first half</h1>" + "<p>The second half never comes.</p>" * 20)

    def parts() -> Iterator[bytes]:
        yield whole[: request.number("bytes", len(whole) // 2, len(whole))]
        request.stays(PATIENCE_S)

    return Response(parts(), length=len(whole))


def torn(request: Request) -> Response:
    """Headers and the first half of the body, then the connection is reset (RST, by a linger of none)."""
    whole = page("Torn", "<h1>The first half</h1>" + "<p>The second half never comes.</p>" * 20)

    def parts() -> Iterator[bytes]:
        yield whole[: len(whole) // 2]
        request.stays(0.2)  # the first half is on its way: a reset would take it back
        request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(request.connection.detach())  # nobody's shutdown comes before it

    return Response(parts(), length=len(whole))


def trickle(request: Request) -> Response:
    whole = page("Trickle", "<h1>Trickle</h1>").ljust(TRICKLE_BYTES)

    def parts() -> Iterator[bytes]:
        for place in range(len(whole)):
            yield whole[place : place + 1]
            if not request.stays(TRICKLE_S):
                return

    return Response(parts(), length=len(whole))


def late_loop(request: Request) -> Response:
    """Goes to itself at each load, and is busy until that document comes, whose body is sent half a second late."""
    again = "location.reload(); for (const end = performance.now() + 300; performance.now() < end;);"
    whole = page("Late loop", "<h1>Late loop</h1>", head=f"<script>onload = () => {{ {again} }};</script>")

    def parts() -> Iterator[bytes]:
        head, body = whole.split(b"</head>")
        yield head
        if request.stays(0.5):
            yield b"</head>" + body

    return Response(parts(), length=len(whole))


def huge_html(request: Request) -> Response:
    """`mb` MiB (17 unless told) in paragraphs of 1 KiB, each with its number; never whole in memory."""
    start, end = page("Huge", "SPLIT").split(b"SPLIT")
    size = request.number("mb", 17, 1024) * MB

    def parts() -> Iterator[bytes]:
        left = size - len(start) - len(end)
        yield start
        for number in range(left // 1024):
            yield b"<p>%07d %s</p>\n" % (number, b"archive " * 126 + b"end")
        yield b" " * (left % 1024) + end

    return Response(parts(), length=size)


def huge_bin(request: Request) -> Response:
    """`mb` MiB (10 unless told, 4096 at most) of the bytes 0 to 255 over and over."""
    count = request.number("mb", 10, 4096)
    block = bytes(range(256)) * (MB // 256)
    return Response((block for _ in range(count)), BINARY, length=count * MB)


def slow_file(request: Request) -> Response:
    """2 MB in pieces a quarter of a second apart to who asks first, at once to who asks again, unless `each` is 1."""
    is_slow = request.counters.next(f"slow-file {request.query}") == 1 or request.number("each", 0, 1)
    pause = 0.25 if is_slow else 0.0
    piece = bytes(range(256)) * 128

    def parts() -> Iterator[bytes]:
        for _ in range(SLOW_PIECES):
            yield piece
            if pause and not request.stays(pause):
                return

    return Response(parts(), "application/pdf", length=SLOW_PIECES * len(piece))


def bytes_without_type(_request: Request) -> Response:
    return Response(bytes(range(256)) * 16, None)


@cache
def _bomb() -> bytes:
    """A page in gzip form (RFC 1952: wbits 31) of about 100 KB that inflates to 100 MiB of spaces."""
    pack = zlib.compressobj(9, wbits=31)
    start = page("Bomb", "")
    spaces = b" " * MB
    packed = [pack.compress(start), pack.compress(spaces[: MB - len(start)])]
    packed += [pack.compress(spaces) for _ in range(BOMB // MB - 1)]
    return b"".join([*packed, pack.flush()])


def gzip_bomb(_request: Request) -> Response:
    return Response(_bomb(), headers=(("Content-Encoding", "gzip"),))


def big_dom(request: Request) -> Response:
    """20,000 elements (`?elements=`) inside the body: half of them inside the other half; and `?details=` besides."""
    count, details = request.number("elements", NODES, 5 * NODES), request.number("details", 0, NODES)
    return Response(page("Big", "<details>d</details>" * details + "<p><b>n</b></p>" * (count // 2)))


ROUTES = (
    Route("/slow", "answers after ?ms= milliseconds", slow, sample="/slow?ms=1500", unending=True),
    Route("/stall", "half of a body, then nothing until the client leaves", stall, unending=True),
    Route("/torn", "half of a body, then the connection is reset", torn, unending=True),
    Route("/empty", "a page of no byte", lambda _: Response(b"")),
    Route("/not-modified", "304 to whoever asks", lambda _: Response(type=None, status=304), None, status=304),
    Route("/never", "accepts and never answers", never, unending=True),
    Route("/trickle", "a byte each 100 ms for 60 s", trickle, unending=True),
    Route("/late-loop", "goes to itself at each load; only its head comes at once", late_loop),
    Route("/huge.html", "?mb= MiB of paragraphs, 17 unless told", huge_html),
    Route("/huge.bin", "?mb= MiB of bytes", huge_bin, BINARY, sample="/huge.bin?mb=20"),
    Route("/gzip-bomb", "100 KB of gzip that inflate to 100 MiB", gzip_bomb),
    Route("/big-dom", "20,000 elements, or ?elements=, and ?details=", big_dom),
    Route(
        "/broken.html", "unclosed tags, a wrong nesting, NUL bytes and bytes that are not UTF-8", static("broken.html")
    ),
    Route("/bad-encoding", "Shift_JIS bytes that claim to be UTF-8", static("bad-encoding.html")),
    Route("/wrong-type", "HTML that claims to be plain text", static("wrong-type.html", TEXT), TEXT),
    Route("/slow-file", "2 MB, slowly to who asks first", slow_file, "application/pdf", unending=True),
    Route("/no-type.bin", "bytes that are no text, without a Content-Type", bytes_without_type, None),
    Route("/attached", "HTML that is to be saved and not shown", static("article.html", headers=ATTACHED)),
    Route("/no-type", "HTML without a Content-Type", static("no-type.html", None), None),
)
