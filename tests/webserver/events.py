"""Owns a viewer of the stream of events: what a browser's EventSource does, as a socket."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.webserver.server import Visitor


@dataclass
class Events:
    """One open stream; ``next`` blocks until something comes (a minute at most)."""

    visitor: Visitor
    query: str = ""
    last_id: str = ""
    path: str = "/events/"
    status: int = 0
    _lines: Iterator[str] = field(default_factory=lambda: iter(()))

    def __enter__(self) -> Self:
        self.socket = socket.create_connection(("127.0.0.1", self.visitor.server.port), timeout=60)
        cookie = "; ".join(f"{name}={value}" for name, value in self.visitor.jar.items())
        lines = [
            f"GET {self.path}{self.query} HTTP/1.1", f"Host: 127.0.0.1:{self.visitor.server.port}", f"Cookie: {cookie}",
            *([f"Last-Event-ID: {self.last_id}"] if self.last_id else []),
        ]  # fmt: skip
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._file = self.socket.makefile("r", encoding="utf-8", newline="\n")
        self.status = int(self._file.readline().split()[1])
        while self._file.readline().strip():
            pass
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self.socket.close()

    def next(self) -> dict[str, Any]:
        """The next event's data; its id is kept."""
        for line in self._file:
            if line.startswith("id: "):
                self.last_id = line[4:].strip()
            elif line.startswith("data: "):
                found: dict[str, Any] = json.loads(line[6:])
                return found
        raise EOFError("the stream has ended")

    def until(self, name: str, words: str) -> str:
        """The first piece of this name that has these words."""
        while True:
            html = self.next()["parts"].get(name, "")
            if words in html:
                return str(html)
