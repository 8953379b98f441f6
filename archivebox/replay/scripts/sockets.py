"""Owns the messages of recorded WebSockets, as a script gets them again."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON

FILE = "responses/sockets.jsonl"
"""What the recorder writes, a line a message; relative to a snapshot's folder."""


@dataclass
class Socket:
    """One recorded connection. Each message is ``[way, kind, data]``: sent or received; text or base64."""

    messages: list[JSON] = field(default_factory=list)
    is_closed: bool = False


def sockets_to(folder: Path, url: str) -> list[Socket]:
    """The connections to a URL, in the order in which they were opened. Blocks.

    Without the ``socket`` by which the recorder tells two to the same URL apart, a message is the latest one's.
    """
    path = folder / FILE
    found: dict[str, Socket] = {}
    lines: Iterable[dict[str, JSON]] = jsonl.read(path) if path.is_file() else ()
    opened = 0
    for line in lines:
        if _plain(str(line.get("url", ""))) != _plain(url):
            continue
        event = line.get("event")
        opened += event == "opened"
        socket = found.setdefault(str(line.get("socket") or opened), Socket())
        if event in {"sent", "received"}:
            kind = "text" if "text" in line else "base64"
            socket.messages.append([event, kind, line.get(kind, "")])
        socket.is_closed |= event == "closed"
    return list(found.values())


def _plain(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.netloc.lower()}{parts.path or '/'}?{parts.query}"


def as_json(socket: Socket) -> bytes:
    """What the shim reads."""
    return json.dumps({"messages": socket.messages, "closed": socket.is_closed}).encode()
