"""Owns the proxy of one crawl: clients of its ports are connected by its rules, counted, and recorded."""

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Self, cast

from archivebox.lib.egress.connection_log import ConnectionLog, Totals
from archivebox.lib.egress.dialing import DialedConnection, Dialer, Upstream
from archivebox.lib.egress.proxy_requests import (
    HEAD_MAX,
    Endpoint,
    NotConnected,
    NotConnectedReason,
    ProxyRequest,
    connected,
    not_connected,
    read_proxy_request,
)

IDLE_TIME = 300.0
"""Seconds without a byte in either direction after which a connection is closed."""
LEFT_TIME = 30.0
"""The same where one side has ended, as the client does that has gone."""


class ProxiedConnection:
    """A client's connection, and the one that was made for it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.far: DialedConnection | None = None
        self.sent = self.received = 0
        self.has_left = False
        """Whether one side has said all that it will."""
        self.stays = False
        """Whether it may be silent for as long as it likes: it leads nowhere but to the crawl's own processes."""
        self.moved_at = asyncio.get_running_loop().time()

    def is_idle(self, now: float) -> bool:
        if self.has_left:
            return now - self.moved_at > LEFT_TIME
        return not self.stays and now - self.moved_at > IDLE_TIME

    def abort(self) -> None:
        """End it at once on both sides."""
        for writer in (self.writer, *((self.far.writer,) if self.far else ())):
            writer.transport.abort()


class Flow:
    """Counts the bytes of one connection, for it and for its crawl; ``on_received`` is called after each piece."""

    def __init__(
        self, link: ProxiedConnection, far: DialedConnection, totals: Totals, on_received: Callable[[], None]
    ) -> None:
        self._link, self._far, self._totals, self._on_received = link, far, totals, on_received
        self._now = asyncio.get_running_loop().time

    async def relay_both_ways(self) -> None:
        """Until both sides have ended, or one has broken."""
        near, far = self._connect(body_size=None)
        await self._start(near, far)
        await asyncio.wait((near.ended, far.ended))

    async def relay_one_response(self, head: bytes, body_size: int) -> None:
        """A request, so many bytes after it, and all that is answered; what else the client says goes nowhere."""
        near, far = self._connect(body_size=body_size)
        self._sent(len(head))
        self._far.writer.write(head)
        await self._start(near, far)
        await far.ended

    def _connect(self, body_size: int | None) -> tuple["Side", "Side"]:
        ours, theirs = _transport(self._link.writer), _transport(self._far.writer)
        return Side(ours, theirs, self._sent, self._leave, body_size), Side(theirs, ours, self._got, self._leave)

    async def _start(self, near: "Side", far: "Side") -> None:
        """Take over from the streams; what they have read already goes first."""
        near.begin()
        far.begin()
        for side, reader in ((near, self._link.reader), (far, self._far.reader)):
            reader.feed_eof()
            if early := await reader.read():
                side.data_received(early)
            side.resume()

    def _sent(self, count: int) -> None:
        self._link.sent += count
        self._totals.sent += count
        self._link.moved_at = self._now()

    def _got(self, count: int) -> None:
        self._link.received += count
        self._totals.received += count
        self._link.moved_at = self._now()
        self._on_received()

    def _leave(self) -> None:
        self._link.has_left = True


class Side(asyncio.Protocol):
    """One end of a link: what comes in goes out at the other end; ``limit``: so many bytes of it, and no end."""

    def __init__(
        self,
        transport: asyncio.Transport,
        other: asyncio.Transport,
        count: Callable[[int], None],
        leave: Callable[[], None],
        limit: int | None = None,
    ) -> None:
        self._transport, self._other, self._count, self._leave = transport, other, count, leave
        self._left = limit
        self.ended = asyncio.get_running_loop().create_future()

    def begin(self) -> None:
        """Nothing is read until :meth:`resume`. One that broke meanwhile tells nobody again."""
        self._transport.set_protocol(self)
        if self._transport.is_closing():
            self.connection_lost(ConnectionResetError())
        else:
            self._transport.pause_reading()

    def resume(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        if data:
            self._count(len(data))
            self._other.write(data)

    def eof_received(self) -> bool:
        self._end()
        if self._left is None and not self._other.is_closing():
            self._other.write_eof()
        return True  # the other direction stays open

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        if exc is not None:
            self._other.abort()

    def pause_writing(self) -> None:
        """What is written here waits: the other end reads no more."""
        if not self._other.is_closing():
            self._other.pause_reading()

    def resume_writing(self) -> None:
        if not self._other.is_closing():
            self._other.resume_reading()

    def _end(self) -> None:
        self._leave()
        if not self.ended.done():
            self.ended.set_result(None)


def _transport(writer: asyncio.StreamWriter) -> asyncio.Transport:
    return cast("asyncio.Transport", writer.transport)


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
