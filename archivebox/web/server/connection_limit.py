"""Owns how many connections one address may have open: the newest of whoever has more are closed."""

import errno
import logging
import os
import select
import socket
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from archivebox.lib.networks import subscriber_of

log = logging.getLogger(__name__)

FILES = Path("/dev/fd")
"""Our own open files, by number."""
GATHER = 0.1
"""Seconds between two looks: one for all connections that come together."""
LOOK_AGAIN = 1.0


class Connection(NamedTuple):
    """One that is open, by our port and the other end's address and port."""

    port: int
    peer: str
    peer_port: int


class ConnectionLimit:
    """Closes what one subscriber has open beyond the limit; the web server accepts connections out of our sight.

    It sleeps in the kernel until a connection comes, and then looks at all that are open: 11 µs each.
    """

    def __init__(self, ports: Collection[int], most: int, is_exempt: Callable[[str], bool]) -> None:
        """``most`` for each port; ``is_exempt``: addresses that speak for many, such as a proxy's."""
        self._ports = frozenset(ports)
        self._most = most
        self._is_exempt = is_exempt
        self._seen: set[Connection] = set()
        """Those of the last look: they are older than what has come since."""
        self._is_near = False
        """Whether somebody has so many that it is looked again: one that is accepted at once wakes nobody else."""
        self._closed: set[Connection] = set()
        """Those that it closed: the server may not have noticed yet."""

    def start(self) -> None:
        """Begin on a thread of its own. Systems without epoll (macOS) have no such limit."""
        if hasattr(select, "epoll"):
            threading.Thread(target=self._watch, name="connections", daemon=True).start()

    def _watch(self) -> None:
        with select.epoll() as poll:
            for listener in self._wait_for_listeners():
                poll.register(listener, select.EPOLLIN | select.EPOLLET)  # tells of each that comes, whoever takes it
            while True:
                while self.close_excess():
                    time.sleep(GATHER)  # more may have been waiting to be accepted
                poll.poll(LOOK_AGAIN if self._is_near else None)
                time.sleep(GATHER)

    def _wait_for_listeners(self) -> list[int]:
        """Their file descriptors, duplicated; they listen a moment after the server was told to."""
        while not self._ports <= {end.getsockname()[1] for end in _sockets() if _listens(end)}:
            time.sleep(GATHER)
        return [os.dup(end.fileno()) for end in _sockets() if _listens(end) and end.getsockname()[1] in self._ports]

    def close_excess(self) -> int:
        """Close the newest connections of whoever has too many; returns how many these were."""
        open_now = {one for end in _sockets() if (one := _connection(end)) and one.port in self._ports} - self._closed
        counts: dict[tuple[int, str], int] = {}
        excess = set()
        for connection in sorted(open_now, key=lambda one: one not in self._seen):
            key = (connection.port, subscriber_of(connection.peer))
            counts[key] = counts.get(key, 0) + 1
            if counts[key] > self._most and not self._is_exempt(connection.peer):
                excess.add(connection)
        self._seen, self._closed = open_now - excess, excess
        self._is_near = max(counts.values(), default=0) > self._most // 2
        if excess:
            _close(excess)
            log.warning("More than %d connections of one address: the newest are closed.", self._most,
                        extra={"action": "connections_closed", "closed": len(excess)})  # fmt: skip
        return len(excess)


def close_connections(ports: Collection[int]) -> None:
    """Close whatever is open on these ports of ours."""
    _close({one for end in _sockets() if (one := _connection(end)) and one.port in ports})


def _close(connections: Collection[Connection]) -> None:
    for end in _sockets():
        if _connection(end) in connections:
            with suppress(OSError):  # it has ended by itself
                end.shutdown(socket.SHUT_RDWR)


def _connection(end: socket.socket) -> Connection | None:
    try:
        return Connection(end.getsockname()[1], *end.getpeername()[:2])
    except OSError:  # it has ended, or listens
        return None


def _sockets() -> Iterator[socket.socket]:
    """Our TCP sockets, one after the other, each by a file descriptor of its own: its owner may close it meanwhile."""
    for descriptor in [int(path.name) for path in FILES.iterdir()]:
        with suppress(OSError), _duplicate(descriptor) as end:  # it is closed now, or is no socket
            if end.family in {socket.AF_INET, socket.AF_INET6} and end.type == socket.SOCK_STREAM:
                yield end


def _duplicate(descriptor: int) -> socket.socket:
    """OSError if it is no socket, which is asked first. What becomes another file meanwhile stays open.

    Closing any descriptor of a file takes from this process all its locks on it (fcntl_locking(2)): without those on
    its database, the next process that ends removes the write-ahead log under it (sqlite.org/howtocorrupt.html, 2.2).
    """
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        raise OSError(errno.ENOTSOCK, os.strerror(errno.ENOTSOCK))
    return socket.socket(fileno=os.dup(descriptor))


def _listens(end: socket.socket) -> bool:
    return bool(end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
