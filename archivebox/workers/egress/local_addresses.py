"""Owns which addresses of this machine the connections of a crawl left from: the proxy says it, workers remember it."""

from collections.abc import Iterator
from uuid import UUID

from archivebox.lib.egress import Endpoint
from archivebox.lib.urls import parse_url

REMEMBERED_MAX = 1000
"""Processes and places of one crawl whose latest address is remembered; about 100 KB."""


def key_of(user: str, place: Endpoint) -> str:
    """What a connection is remembered by: the process that says that it made it, else the place where it leads.

    The browser of a crawl says nothing of itself; what leads to one place leaves by one route.
    """
    try:
        return str(UUID(user))
    except ValueError:
        return str(place)


def place_key(url: str) -> str:
    """By what connections to the host of a URL are remembered."""
    parsed = parse_url(url)
    return str(Endpoint(parsed.host.strip("[]"), parsed.effective_port or 0))


def line_of(key: str, address: str) -> bytes:
    """What the proxy tells a worker."""
    return f"{key} {address}\n".encode()


class LocalAddresses:
    """The latest local address by :func:`key_of`."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._torn = b""

    def add(self, key: str, address: str) -> bool:
        """Remember it, and forget the oldest where there are too many; returns whether it is news."""
        if not address or self._known.get(key) == address:
            return False
        self._known.pop(key, None)
        self._known[key] = address
        if len(self._known) > REMEMBERED_MAX:
            del self._known[next(iter(self._known))]
        return True

    def find(self, key: str) -> str:
        """The address; empty where none is known."""
        return self._known.get(key, "")

    def lines(self) -> Iterator[bytes]:
        """Everything that is known, the oldest first."""
        return (line_of(key, address) for key, address in self._known.items())

    def feed(self, data: bytes) -> None:
        """Remember what a proxy says; the last line may be torn."""
        *lines, self._torn = (self._torn + data).split(b"\n")
        for line in lines:
            key, _, address = line.decode().partition(" ")
            self.add(key, address)

    def drop_torn_line(self) -> None:
        """What the proxy could not say to its end: it has died."""
        self._torn = b""
