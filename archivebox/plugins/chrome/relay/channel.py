"""A stream of messages on which nobody waits: what does not go out now goes out when the peer has room for it."""

from __future__ import annotations

import collections
import itertools
import selectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from .websocket import WebSocket

READ_SIZE = 1 << 16  # bytes; larger ones are mapped and unmapped for each read
WAITING_MAX = 1 << 28  # bytes for a peer that does not read them; then it is let go
PARTS = 64  # pieces in one sendmsg(2)


class PeerChannel:
    """One peer: `take` is called with each message of it, `end` once when it is gone."""

    def __init__(
        self,
        stream: socket.socket,
        framing: Plain | WebSocket,
        selector: selectors.BaseSelector,
        receive: Callable[[bytes], None],
        end: Callable[[], None],
    ) -> None:
        stream.setblocking(False)
        self._stream, self._framing, self._selector, self._receive, self._end = stream, framing, selector, receive, end
        self._waiting: collections.deque[memoryview] = collections.deque()
        self._size = 0
        self.closed = False
        selector.register(stream, selectors.EVENT_READ, self._ready)

    @property
    def is_behind(self) -> bool:
        """Whether the peer has not taken yet all that was sent."""
        return self._size > 0

    def send(self, *parts: bytes) -> None:
        """Send one message, given in parts to save copying it."""
        self._put(*self._framing.wrap(*parts))

    def close(self) -> None:
        """Let the peer go; what still waits for it is lost."""
        if not self.closed:
            self.closed = True
            self._selector.unregister(self._stream)
            self._stream.close()
            self._end()

    def _ready(self, mask: int) -> None:
        if mask & selectors.EVENT_READ and not self.closed:
            self._read()
        if mask & selectors.EVENT_WRITE and not self.closed:
            self._flush()

    def _read(self) -> None:
        try:
            data = self._stream.recv(READ_SIZE)
            messages = self._framing.feed(data)
        except BlockingIOError:
            return
        except (OSError, PeerRefused) as error:
            self._put(error.answer if isinstance(error, PeerRefused) else b"")
            self.close()
            return
        self._put(self._framing.answer)
        self._framing.answer = b""
        for message in messages:
            if not self.closed:
                self._receive(message)
        if not data:
            self.close()

    def _put(self, *pieces: bytes) -> None:
        if self.closed or not any(pieces):
            return
        self._waiting.extend(memoryview(piece) for piece in pieces if piece)
        self._size += sum(map(len, pieces))
        if self._size > WAITING_MAX:
            self.close()
        elif not self._selector.get_key(self._stream).events & selectors.EVENT_WRITE:
            self._flush()

    def _flush(self) -> None:
        try:
            while self._waiting:
                self._sent(self._stream.sendmsg(list(itertools.islice(self._waiting, PARTS))))
        except BlockingIOError:
            pass  # its buffer is full: the selector says when there is room
        except OSError:
            self.close()
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._waiting else 0)
        if self._selector.get_key(self._stream).events != events:
            self._selector.modify(self._stream, events, self._ready)

    def _sent(self, size: int) -> None:
        self._size -= size
        while size:
            piece = self._waiting.popleft()
            if len(piece) > size:
                self._waiting.appendleft(piece[size:])
                return
            size -= len(piece)


class PeerRefused(Exception):  # noqa: N818  (what happened to the peer, not to us)
    """The peer may not speak to us, or does not speak our language; `answer` is what it is told."""

    def __init__(self, answer: bytes = b"") -> None:
        super().__init__(answer)
        self.answer = answer


class Plain:
    """Messages that end with a NUL."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._seen = 0  # so far there is no NUL
        self.answer = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that `data` completes."""
        self._buffer += data
        messages = []
        while (end := self._buffer.find(b"\0", self._seen)) >= 0:
            messages.append(bytes(self._buffer[:end]))
            del self._buffer[: end + 1]
            self._seen = 0
        self._seen = len(self._buffer)
        return messages

    def wrap(self, *parts: bytes) -> tuple[bytes, ...]:
        """Return what to write for a message that consists of `parts`."""
        return (*parts, b"\0")
