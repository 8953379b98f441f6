"""Owns the page that uses the network in every way a page can, for what listens to it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.site.sockets import socket
from tests.site.static import PAGES, TYPES, file, static
from tests.site.wire import BINARY, TEXT, Request, Response, Route

ENDLESS = 1 << 40
CLIP = (PAGES / "clip.webm").read_bytes()
SERVICE = static("network-service.js", headers=(("Service-Worker-Allowed", "/"),))
EVENTS = b"data: one\n\ndata: two\n\nevent: end\ndata: three\n\n"


def no_content(_request: Request) -> Response:
    return Response(type=None, status=204)


def cached(_request: Request) -> Response:
    return Response(b"kept for an hour\n", TEXT, headers=(("Cache-Control", "max-age=3600"),))


def ranges(request: Request) -> Response:
    """The clip, in parts where parts are asked for (RFC 9110, 14.2), one range at a time."""
    unit, _, span = request.headers.get("range", "").partition("=")
    first, _, last = span.partition("-")
    if unit != "bytes" or not first.isdigit():
        return Response(CLIP, TYPES[".webm"], headers=(("Accept-Ranges", "bytes"),))
    start, end = int(first), min(int(last or len(CLIP)), len(CLIP) - 1)
    if start > end:
        return Response(b"", TEXT, 416, (("Content-Range", f"bytes */{len(CLIP)}"),))
    headers = (("Accept-Ranges", "bytes"), ("Content-Range", f"bytes {start}-{end}/{len(CLIP)}"))
    return Response(CLIP[start : end + 1], TYPES[".webm"], 206, headers)


def endless(request: Request) -> Response:
    """A kilobyte each 50 ms until the client leaves."""

    def parts() -> Iterator[bytes]:
        yield b"x" * 1024
        while request.stays(0.05):
            yield b"x" * 1024

    return Response(parts(), BINARY, length=ENDLESS)


def events(_request: Request) -> Response:
    return Response(EVENTS, "text/event-stream")


ROUTES = (
    file("/network", "uses the network in every way that a page can"),
    file("/network/worker.js", "a worker that fetches", "network-worker.js"),
    file("/network/shared.js", "a shared worker that fetches", "network-shared.js"),
    Route("/network/service.js", "a service worker that fetches, and answers for others", SERVICE, TYPES[".js"]),
    Route("/network/no-content", "204", no_content, None, 204),
    Route("/network/cached", "may be kept for an hour", cached, TEXT),
    Route("/network/clip.webm", "the clip of /clip.webm, in ranges", ranges, TYPES[".webm"]),
    Route("/network/endless", "a body without end", endless, BINARY, unending=True),
    Route("/network/socket", "a WebSocket that greets and says back what it is told", socket, None, 101, unending=True),
    Route("/network/events", "three server-sent events", events, "text/event-stream"),
)
