"""Owns the shapes that travel between the server of the local web and its pages: request, response, route."""

from __future__ import annotations

import html
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
BINARY = "application/octet-stream"


class Counters:
    """Named counters and moments of one site, for the pages that remember their clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self._begun: dict[str, float] = {}

    def next(self, name: str) -> int:
        """Count one more, and return the count: 1 for the first."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + 1
            return self._counts[name]

    def seconds_since_first(self, name: str) -> float:
        """Seconds since this was asked of `name` for the first time: 0 then."""
        with self._lock:
            now = time.monotonic()
            return now - self._begun.setdefault(name, now)

    def reset(self, name: str) -> None:
        """Begin again with 1."""
        with self._lock:
            self._counts.pop(name, None)

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()
            self._begun.clear()


@dataclass(frozen=True)
class Request:
    """One request, with what a page may need to know of the site that serves it."""

    method: str
    path: str
    """Without the query, as sent (not decoded)."""
    query: str
    headers: Mapping[str, str]
    """Names in lower case; a repeated header is joined by a comma."""
    body: bytes
    client: str
    origins: tuple[str, str, str]
    """`http://host:port` of the address asked and of the two other origins, without a slash at the end."""
    counters: Counters
    git_folder: Path | None
    connection: socket.socket = field(repr=False)

    def value(self, name: str, default: str) -> str:
        """The first value of `name` in the query."""
        return parse_qs(self.query, keep_blank_values=True).get(name, [default])[0]

    def number(self, name: str, default: int, most: int) -> int:
        """The value of `name` as a whole number between 0 and `most`; anything else is the default."""
        given = self.value(name, "")
        return min(int(given), most) if given.isascii() and given.isdigit() else default

    def stays(self, seconds: float) -> bool:
        """Wait, and tell whether the client is still connected; a stopping site looks like a client that left."""
        poll = select.poll()
        poll.register(self.connection, select.POLLRDHUP)  # POLLHUP and POLLERR are always reported
        return not poll.poll(seconds * 1000)

    def fill_in(self, text: bytes) -> bytes:
        """Replace `%SITE%`, `%OTHER%` and `%THIRD%` by the three origins."""
        for word, origin in zip((b"%SITE%", b"%OTHER%", b"%THIRD%"), self.origins, strict=True):
            text = text.replace(word, origin.encode())
        return text


@dataclass(frozen=True)
class Response:
    """What a page answers; a stream as body needs its `length` in bytes."""

    body: bytes | Iterator[bytes] = b""
    type: str | None = HTML
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None

    @property
    def content_length(self) -> int:
        if self.length is not None:
            return self.length
        if isinstance(self.body, bytes):
            return len(self.body)
        raise ValueError("a streamed body needs its length")


Handler = Callable[[Request], Response | None]
"""None closes the connection without an answer."""


@dataclass(frozen=True)
class Route:
    """A line of the table: where, what for, who answers, and what a plain GET of `link` is answered with."""

    path: str
    """Ends with `*` where everything below belongs to the route."""
    about: str
    handler: Handler
    type: str | None = HTML
    status: int = 200
    sample: str = ""
    """A path that a reader can open, where `path` itself is a pattern or wants a query."""
    unending: bool = False
    """A plain GET does not finish by itself within a second."""

    @property
    def link(self) -> str:
        return self.sample or self.path

    def covers(self, path: str) -> bool:
        return path.startswith(self.path[:-1]) if self.path.endswith("*") else path == self.path


def page(title: str, body: str, *, head: str = "") -> bytes:
    """A whole small HTML page; `title` is text, `body` and `head` are markup."""
    return (
        f'<!doctype html>\n<html lang="en">\n'
        f'<head><meta charset="utf-8"><title>{html.escape(title)}</title>{head}</head>\n'
        f"<body>\n{body}\n</body>\n</html>\n"
    ).encode()


def as_json(value: object) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True).encode() + b"\n"


def redirect(status: int, location: str) -> Response:
    """A redirect with a short body, as most servers send."""
    body = page("Moved", f'<a href="{html.escape(location)}">{html.escape(location)}</a>')
    return Response(body, status=status, headers=(("Location", location),))
