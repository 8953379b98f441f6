"""Owns the pages that are files in `pages/`, with the three origins filled in."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.site.wire import Handler, Request, Response, Route

PAGES = Path(__file__).parent / "pages"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".xml": "application/xml",
    ".rss": "application/rss+xml",
    ".atom": "application/atom+xml",
    ".opml": "text/x-opml; charset=utf-8",
    ".svg": "image/svg+xml",
    ".avif": "image/avif",
    ".woff2": "font/woff2",
    ".webm": "video/webm",
    ".mp4": "video/mp4",
    ".ts": "video/mp2t",
    ".m3u8": "application/vnd.apple.mpegurl",
    ".vtt": "text/vtt; charset=utf-8",
}
BINARY = frozenset({".webm", ".mp4", ".ts", ".avif", ".woff2"})


@cache
def _read(name: str) -> bytes:
    return (PAGES / name).read_bytes()


def static(name: str, type_: str | None = "", headers: tuple[tuple[str, str], ...] = ()) -> Handler:
    """Serve `pages/<name>`; the type is that of its suffix unless given, and None sends no Content-Type."""
    suffix = Path(name).suffix
    sent_type = TYPES[suffix] if type_ == "" else type_

    def answer(request: Request) -> Response:
        body = _read(name) if suffix in BINARY else request.fill_in(_read(name))
        return Response(body, sent_type, headers=headers)

    return answer


def file(path: str, about: str, name: str = "") -> Route:
    """The route of a file, named like its path unless told otherwise (`/article` is `article.html`)."""
    found = name or path.removeprefix("/")
    found = found if Path(found).suffix else f"{found}.html"
    return Route(path, about, static(found), TYPES[Path(found).suffix])
