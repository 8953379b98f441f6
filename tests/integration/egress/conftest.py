"""Owns doors of the egress proxy that stand while a test runs, with the rules and the names that it gives them."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from archivebox.lib.egress import ConnectionLog, ConnectionPolicy, Dialer, DialRules, ProxyListener, Totals, read_totals
from archivebox.lib.networks import IPAddress

Names = Callable[[str], Sequence[IPAddress]]


@dataclass
class Proxy:
    """A door that listens, in a thread of its own."""

    port: int
    folder: Path
    door: ProxyListener
    loop: asyncio.AbstractEventLoop
    full: list[bool]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=90)

    def ask(self, head: str) -> bytes:
        """All that is answered to one request."""
        with self.connect() as stream:
            stream.sendall(head.encode())
            return read_all(stream)

    def socks(self, host: str, port: int) -> tuple[int, socket.socket]:
        """The reply to a wish for a tunnel, and the connection."""
        stream = self.connect()
        stream.sendall(b"\x05\x01\x00")
        assert stream.recv(2) == b"\x05\x00"
        stream.sendall(b"\x05\x01\x00\x03" + bytes((len(host),)) + host.encode() + port.to_bytes(2, "big"))
        return stream.recv(10)[1], stream

    def log(self) -> list[dict[str, Any]]:
        """Its lines, once all connections have ended."""
        deadline = time.monotonic() + 90
        while self.door.is_used and time.monotonic() < deadline:
            time.sleep(0.01)
        return [json.loads(line) for line in (self.folder / "connections.jsonl").read_text().splitlines()]

    def totals(self) -> Totals:
        asyncio.run_coroutine_threadsafe(_call(self.door.sweep), self.loop).result(90)
        return read_totals(self.folder)


def read_all(stream: socket.socket) -> bytes:
    parts = []
    while data := stream.recv(65536):
        parts.append(data)
    return b"".join(parts)


async def _call(action: Callable[[], None]) -> None:
    action()


OpenDoor = Callable[..., Proxy]


@pytest.fixture
def open_door(tmp_path: Path) -> Iterator[OpenDoor]:
    """Opens doors: ``rules``, ``names`` (who answers what names lead to), ``max_size``."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    doors: list[ProxyListener] = []

    def open_(rules: DialRules = DialRules(), names: Names | None = None, max_size: int | None = None) -> Proxy:  # noqa: B008
        folder, full = tmp_path / f"egress{len(doors)}", list[bool]()

        async def learn() -> ConnectionPolicy:
            dialer = Dialer(rules) if names is None else Dialer(rules, _resolver(names))
            return ConnectionPolicy(dialer, ConnectionLog(folder), max_size)

        listener = socket.create_server(("127.0.0.1", 0))
        door = ProxyListener(learn, lambda: full.append(True))
        doors.append(door)
        asyncio.run_coroutine_threadsafe(door.listen(listener), loop).result(90)
        return Proxy(listener.getsockname()[1] if listener.fileno() >= 0 else 0, folder, door, loop, full)

    yield open_
    for door in doors:
        asyncio.run_coroutine_threadsafe(_call(door.close), loop).result(90)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(90)
    loop.close()


def _resolver(names: Names) -> Callable[[str], Any]:
    async def resolve(name: str) -> Sequence[IPAddress]:
        return names(name)

    return resolve
