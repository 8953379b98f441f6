"""Owns the ports of crawls from the worker's side: made here, so that nobody waits, and handed to the egress process.

A port that listens keeps who connects until somebody takes it in, so hooks may start before that process has, and
nothing is lost but what was under way when it dies: the worker keeps the port, and hands it to the next one. The number
stays with the crawl (``run/egress/<crawl id>``): a browser that outlives its worker has it on its command line.
"""

import array
import asyncio
import logging
import os
import socket
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from uuid import UUID

from django.utils.crypto import salted_hmac

from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import Proxy
from archivebox.lib.files import atomic_write
from archivebox.workers.egress.local_addresses import LocalAddresses

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
BACKLOG = 512
READ_SIZE = 64 * 1024
HANDED_AGAIN_AFTER = 0.2
"""Seconds until a port is offered again that could not be handed over: the egress process is behind."""


def hook_password(crawl_id: UUID) -> str:
    """What the hooks of a crawl say to its proxy: the same in every worker, and to nobody else of any use."""
    return salted_hmac("archivebox.workers.egress", str(crawl_id), algorithm="sha256").hexdigest()[:32]


class CrawlProxy:
    """The port of one crawl."""

    def __init__(self, crawl_id: UUID) -> None:
        self.crawl_id = crawl_id
        self.listener = _listener(crawl_id)
        self.port: int = self.listener.getsockname()[1]
        self.tie: socket.socket | None = None
        """Its other end is with the egress process: each of us sees when the other has gone."""
        self.local_addresses = LocalAddresses()

    def hand_over(self, ports_in: socket.socket) -> bool:
        """Offer the port to the egress process, whether it is up or not; False: there is no room for that now."""
        ours, theirs = socket.socketpair()
        descriptors = array.array("i", (self.listener.fileno(), theirs.fileno()))
        try:
            ports_in.sendmsg([self.crawl_id.bytes], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        except OSError as error:
            log.warning("The port of crawl %s waits to be served: %s action=port_waits", self.crawl_id, error)
            ours.close()
            return False
        finally:
            theirs.close()
        ours.setblocking(False)
        self.tie = ours
        return True

    def receive(self) -> bool:
        """Read what the egress process has said; False: it has died, or was never there."""
        while self.tie is not None:
            try:
                data = self.tie.recv(READ_SIZE)
            except BlockingIOError:
                return True
            except ConnectionResetError:
                return False
            if not data:
                return False
            self.local_addresses.feed(data)
        return False

    def close(self) -> None:
        self.listener.close()
        if self.tie is not None:
            self.tie.close()


def _listener(crawl_id: UUID) -> socket.socket:
    """A socket that listens on the crawl's own port; several workers of ours, and none of anybody else, share it."""
    path = DATA_FOLDER.crawl_port(crawl_id)
    try:
        return listen(int(path.read_text()))
    except (FileNotFoundError, ValueError):
        pass
    except OSError as error:
        log.info("Crawl %s gets another port: %s action=port_taken", crawl_id, error)
    listener = listen(0)
    _write_port(crawl_id, listener)
    return listener


def _write_port(crawl_id: UUID, listener: socket.socket) -> None:
    path = DATA_FOLDER.crawl_port(crawl_id)
    DATA_FOLDER.make_folder(path.parent, 0o700)
    atomic_write(path, str(listener.getsockname()[1]))


def listen(port: int) -> socket.socket:
    """A socket that listens on a port of loopback, 0 for any that is free; OSError where it is somebody else's."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # of one user alone
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


class CrawlProxies:
    """The ports that one worker has for its crawls. ``ports_in``: the socket by which all workers hand them over."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ports_in: socket.socket) -> None:
        self._loop = loop
        self._ports_in = ports_in
        self._proxies: dict[UUID, CrawlProxy] = {}
        self._reserved: socket.socket | None = None
        """A port that the next crawl may get: what connects to it before is never answered."""
        self.on_proxy_death: Callable[[UUID], None] | None = None
        """Called with each crawl whose connections broke off with the egress process."""
        ports_in.setblocking(False)

    def proxy_of(self, crawl_id: UUID) -> Proxy:
        """The proxy through which everything of a crawl goes; it has a port from now on."""
        if crawl_id not in self._proxies:
            self._proxies[crawl_id] = CrawlProxy(crawl_id)
            self._hand_over(self._proxies[crawl_id])
        return Proxy(f"{LOOPBACK}:{self._proxies[crawl_id].port}", hook_password(crawl_id))

    def is_known(self, crawl_id: UUID) -> bool:
        """Whether a crawl has a port already, here or from another worker."""
        return crawl_id in self._proxies or DATA_FOLDER.crawl_port(crawl_id).exists()

    def reserve(self) -> Proxy:
        """The proxy of a crawl that is yet to come: no policy is known of it, so nothing goes out by it."""
        self.drop_reserved()
        self._reserved = listen(0)
        return Proxy(f"{LOOPBACK}:{self._reserved.getsockname()[1]}", "")

    def assign_reserved(self, crawl_id: UUID) -> None:
        """Let a crawl that has no port yet have the one that is reserved."""
        if self._reserved is not None and crawl_id not in self._proxies:
            _write_port(crawl_id, self._reserved)
            self.proxy_of(crawl_id)
        self.drop_reserved()

    def drop_reserved(self) -> None:
        """Let go of the port that is reserved; who has connected to it is cut off."""
        if self._reserved is not None:
            self._reserved.close()
            self._reserved = None

    def keep(self, crawl_ids: AbstractSet[UUID]) -> None:
        """Let go of the ports of all other crawls: nothing of them is at work here."""
        for crawl_id in self._proxies.keys() - crawl_ids:
            self._untie(self._proxies[crawl_id])
            self._proxies.pop(crawl_id).close()

    def close(self) -> None:
        self.keep(frozenset())
        self.drop_reserved()
        self._ports_in.close()

    def _hand_over(self, proxy: CrawlProxy) -> None:
        if self._proxies.get(proxy.crawl_id) is not proxy:
            return
        if not proxy.hand_over(self._ports_in):
            self._loop.call_later(HANDED_AGAIN_AFTER, self._hand_over, proxy)
        elif proxy.tie is not None:
            self._loop.add_reader(proxy.tie.fileno(), self._receive, proxy)

    def local_address(self, crawl_id: UUID, key: str) -> str:
        """From which address of this machine the latest connection of a process, or to a place, left; empty: none.

        The egress process says it before the client can go on, so that it is known when a hook has ended.
        """
        proxy = self._proxies.get(crawl_id)
        if proxy is None:
            return ""
        proxy.receive()
        return proxy.local_addresses.find(key)

    def _receive(self, proxy: CrawlProxy) -> None:
        """The egress process says something, or has died: then the next one gets the port."""
        if proxy.receive():
            return
        self._untie(proxy)
        proxy.local_addresses.drop_torn_line()
        self._hand_over(proxy)
        if self.on_proxy_death is not None:
            self.on_proxy_death(proxy.crawl_id)

    def _untie(self, proxy: CrawlProxy) -> None:
        if proxy.tie is not None:
            self._loop.remove_reader(proxy.tie.fileno())
            proxy.tie.close()
            proxy.tie = None


def receive_sockets(ports_in: socket.socket) -> tuple[UUID, socket.socket, socket.socket] | None:
    """One port that a worker has handed over: whose it is, what listens, and the tie; None if there is none now."""
    try:
        data, descriptors, _, _ = socket.recv_fds(ports_in, 16, 2)
    except BlockingIOError:
        return None
    if len(data) != 16 or len(descriptors) != 2:
        for descriptor in descriptors:
            os.close(descriptor)
        return None
    listener, tie = (socket.socket(fileno=descriptor) for descriptor in descriptors)
    return UUID(bytes=data), listener, tie
