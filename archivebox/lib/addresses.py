"""Owns what an address to listen on is, and which addresses names have."""

import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from ipaddress import ip_address
from typing import NamedTuple, Self

from archivebox.lib.networks import IPAddress


class ListenAddress(NamedTuple):
    """Host (a name or an IP, without brackets) and port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """``127.0.0.1:8000``, ``[::1]:8000``, ``:8000``, ``8000``; ValueError for anything else."""
        host, _, port = text.strip().rpartition(":")
        if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(f"{text!r} is not an address with a port, such as 127.0.0.1:8000")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def next_port(self) -> "ListenAddress":
        return ListenAddress(self.host, self.port + 1)

    @property
    def url(self) -> str:
        """What to type into a browser on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host)  # noqa: S104 - compares, binds nothing
        return f"http://{host or (f'[{self.host}]' if ':' in self.host else self.host)}:{self.port}"

    def problem(self) -> str:
        """Why nobody could listen here now, as the system says it; empty if one can."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((self.host, self.port))
                listener.listen(1)
            except OSError as error:
                return error.strerror or str(error)
        return ""


MAX_THREADS = 32


def resolve(names: Iterable[str], seconds: float) -> dict[str, tuple[IPAddress, ...]]:
    """The addresses of those names that have any and whose answer comes within ``seconds``.

    getaddrinfo(3) cannot be interrupted: what is late goes on in its thread and is forgotten.
    """
    pool = ThreadPoolExecutor(MAX_THREADS, "resolver")
    asked = {name: pool.submit(_addresses, name) for name in set(names)}
    wait(asked.values(), seconds)
    pool.shutdown(wait=False, cancel_futures=True)
    done = {name: future.result() for name, future in asked.items() if future.done() and not future.cancelled()}
    return {name: addresses for name, addresses in done.items() if addresses}


def _addresses(name: str) -> tuple[IPAddress, ...]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # no such name, no network, a label that is too long
        return ()
    return tuple({ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in found})
