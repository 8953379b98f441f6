"""Owns a receiver of webhooks on loopback, which verifies by the code that the documentation gives to others."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DOCUMENTED = Path(__file__).parents[1] / "docs" / "webhooks.md"


def documented() -> Callable[[str, Any, bytes], bool]:
    """``is_genuine`` of the documentation."""
    found = re.search(r"```python\n(.*?)```", DOCUMENTED.read_text(), re.DOTALL)
    assert found
    names: dict[str, Any] = {}
    exec(found[1], names)
    genuine: Callable[[str, Any, bytes], bool] = names["is_genuine"]
    return genuine


@dataclass
class Post:
    """One message as it came in."""

    fields: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """What has come in. ``answers``: statuses of the next answers, then 204 for ever; 0: none at all.

    ``fields``: of each answer.
    """

    url: str = ""
    answers: list[int] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=lambda: {"Location": "/elsewhere"})
    posts: list[Post] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def receiver(certificate: Path | None = None) -> Iterator[Receiver]:
    """With a certificate: over TLS."""
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = made.answers.pop(0) if made.answers else 204
            made.posts.append(Post({name.lower(): value for name, value in self.headers.items()}, body))
            if not answer:
                made.over.wait()
                return
            self.send_response(answer)
            for name, value in made.fields.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}/hook?from=us"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        made.url = made.url.replace("http:", "https:")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield made
    finally:
        made.over.set()
        server.shutdown()
        server.server_close()
