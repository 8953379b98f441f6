"""Owns the bytes between a client and the place that it is connected to: passed on, counted, held up where one is slow.

The transports speak to each other without a task between them: half the time of streams that are read and written.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from archivebox.lib.egress.connection_log import Totals
from archivebox.lib.egress.dialing import DialedConnection

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
    """The bytes of one link, counted for it and for its crawl; ``on_received`` is told after each part that came."""

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
