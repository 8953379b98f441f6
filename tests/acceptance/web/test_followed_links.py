"""Tests' own browser: what it measures after a link is the page as people see it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.webserver.browser import Browser

pytestmark = [pytest.mark.browser, pytest.mark.once]
BODIES = {
    "/": ("text/html", b"<a href=/next>next</a>"),
    "/next": ("text/html", b"<head><link rel=stylesheet href=/late.css></head><p>there</p>"),
    "/late.css": ("text/css", b"p { width: 123px }"),
}
LATE = 0.5


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/late.css":
            time.sleep(LATE)
        kind, body = BODIES.get(self.path, ("text/plain", b""))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in http.server)
        """Print nothing."""


@contextmanager
def served() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def test_a_followed_link_leads_to_a_page_with_its_style_sheets(browser: Browser) -> None:
    with served() as url:
        browser.go(url)
        browser.follow("a")
        assert browser.value("document.querySelector('p').getBoundingClientRect().width") == 123
