"""Owns the proxy of one crawl: clients of its ports are connected by its rules, counted, and recorded."""

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

from archivebox.lib.egress.connection_log import ConnectionLog, Totals
from archivebox.lib.egress.dialing import DialedConnection, Dialer, Upstream
from archivebox.lib.egress.flow import Flow, ProxiedConnection
from archivebox.lib.egress.proxy_requests import (
    HEAD_MAX,
    Endpoint,
    ProxyRequest,
    connected,
    not_connected,
    read_proxy_request,
)
from archivebox.lib.egress.refusals import NotConnected, NotConnectedReason

HEAD_TIME = 30.0
"""Seconds in which a client has to say where it wants to go."""
CONNECTIONS_MAX = 512
"""Connections of one crawl at a time: more than a browser (256) and its programs have."""


@dataclass(frozen=True, slots=True)
class ConnectionPolicy:
    """What holds for the connections of one crawl."""

    dialer: Dialer
    record: ConnectionLog
    max_size: int | None = None
    """Bytes that the crawl may receive."""
    hook_password: str = ""
    """Who says this is a hook, and reaches what its crawl has started on loopback; empty: nobody does."""

    def is_hook(self, asked: ProxyRequest) -> bool:
        said, expected = asked.password.encode(), self.hook_password.encode()
        return bool(expected) and hmac.compare_digest(said, expected)


class ProxyListener:
    """The ports of one crawl; ``learn`` finds its policy, when somebody first comes in.

    ``on_full`` is called when the crawl has received as much as it may. ``on_connected`` is called with who asked for
    a connection, where it leads and from which address of this machine, before who asked learns that it stands.
    """

    def __init__(
        self,
        learn: Callable[[], Awaitable[ConnectionPolicy]],
        on_full: Callable[[], None] = lambda: None,
        on_connected: Callable[[str, Endpoint, str], object] = lambda _user, _place, _local_address: None,
    ) -> None:
        self._learn = learn
        self._on_full, self._on_connected = on_full, on_connected
        self._policy: asyncio.Task[ConnectionPolicy] | None = None
        self._servers: list[asyncio.Server] = []
        self._links: dict[ProxiedConnection, asyncio.Task[None]] = {}
        self.is_full = False

    async def listen(self, listener: socket.socket) -> Self:
        """Take in who comes through a socket that listens; it is ours from now on."""
        listener.setblocking(False)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # who comes in inherits it (tcp(7))
        server = await asyncio.start_server(self._come_in, sock=listener, limit=HEAD_MAX)
        self._servers.append(server)
        return self

    @property
    def is_used(self) -> bool:
        return bool(self._links)

    def sweep(self) -> None:
        """End connections on which nothing has moved for long, and write down how much came; call it now and then."""
        now = asyncio.get_running_loop().time()
        for link in self._links:
            if link.is_idle(now):
                link.abort()
        if (policy := self._known()) is not None:
            policy.record.save()

    def close(self) -> None:
        """End everything."""
        for server in self._servers:
            server.close()
        for link, task in self._links.items():
            link.abort()
            task.cancel()
        if (policy := self._known()) is not None:
            policy.record.close()

    # --- one client -------------------------------------------------------------------------------------------

    async def _come_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = ProxiedConnection(reader, writer)
        task = asyncio.current_task()
        if task is None or len(self._links) >= CONNECTIONS_MAX:
            link.abort()
            return
        self._links[link] = task
        try:
            await self._serve(link)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):  # it went away, or never said what it wants
            link.abort()
        except asyncio.CancelledError:  # by close(), and nobody waits for this task
            link.abort()
        finally:
            del self._links[link]
            writer.close()

    async def _serve(self, link: ProxiedConnection) -> None:
        try:
            async with asyncio.timeout(HEAD_TIME):
                asked = await read_proxy_request(link.reader, link.writer)
        except NotConnected as problem:
            link.writer.write(not_connected(problem, socks=False))
            return
        try:
            policy = await self._ask_policy()
        except NotConnected as problem:
            link.writer.write(not_connected(problem, socks=asked.socks))
            return
        try:
            await self._connect(link, asked, policy)
        except NotConnected as problem:
            policy.record.not_connected(asked.place, problem)
            link.writer.write(not_connected(problem, socks=asked.socks))

    async def _ask_policy(self) -> ConnectionPolicy:
        """What holds for this crawl, found once; NotConnected while it cannot be found."""
        if self._policy is None or (self._policy.done() and self._policy.exception() is not None):
            self._policy = asyncio.ensure_future(self._learn())
        return await asyncio.shield(self._policy)

    def _known(self) -> ConnectionPolicy | None:
        found = self._policy
        if found is None or not found.done() or found.cancelled() or found.exception() is not None:
            return None
        return found.result()

    async def _connect(self, link: ProxiedConnection, asked: ProxyRequest, policy: ConnectionPolicy) -> None:
        own = await self._own_process(asked, policy)
        if own is not None:
            link.far, link.stays = own, True
            await self._pass_on(link, own, asked, policy, onward=None, totals=Totals())
            return
        self._check_size(policy)
        upstream = policy.dialer.upstream
        onward = upstream if asked.request is not None and upstream is not None and upstream.is_http else None
        if onward is not None:
            link.far = far = await policy.dialer.connect_to_upstream(onward, asked.place)
        else:
            link.far = far = await policy.dialer.tunnel(asked.place)
        self._on_connected(asked.user, asked.place, far.local_address)
        await self._pass_on(link, far, asked, policy, onward=onward, totals=policy.record.totals)

    async def _own_process(self, asked: ProxyRequest, policy: ConnectionPolicy) -> DialedConnection | None:
        """What a hook has asked for of its own crawl: it comes from nowhere else, so that nothing is counted."""
        if not policy.is_hook(asked):
            return None
        return await policy.dialer.connect_to_own_process(asked.place)

    async def _pass_on(
        self,
        link: ProxiedConnection,
        far: DialedConnection,
        asked: ProxyRequest,
        policy: ConnectionPolicy,
        *,
        onward: Upstream | None,
        totals: Totals,
    ) -> None:
        number = policy.record.connected(asked.place, far.address)
        flow = Flow(link, far, totals, partial(self._check_received, policy))
        try:
            if asked.request is None:
                link.writer.write(connected(asked))
                await flow.relay_both_ways()
            else:
                head = asked.request.head(absolute=onward is not None, more=onward.fields if onward else ())
                await flow.relay_one_response(head, asked.request.body_size)
        finally:
            far.writer.close()
            policy.record.closed(number, asked.place, link.sent, link.received)

    # --- the limit --------------------------------------------------------------------------------------------

    def _check_size(self, policy: ConnectionPolicy) -> None:
        if policy.max_size is not None and policy.record.totals.received >= policy.max_size:
            self._fill(policy)
            sentence = f"The crawl has received {policy.max_size:,} bytes, its limit. Raise MAX_SIZE to continue."
            raise NotConnected(NotConnectedReason.SIZE_REACHED, sentence)

    def _check_received(self, policy: ConnectionPolicy) -> None:
        if policy.max_size is not None and policy.record.totals.received > policy.max_size:
            self._fill(policy)

    def _fill(self, policy: ConnectionPolicy) -> None:
        """The crawl has had all that it may: nothing more comes in."""
        if not self.is_full:
            self.is_full = True
            policy.record.save()
            self._on_full()
        for link in self._links:
            if link.far is not None:
                link.abort()
