"""A thin blocking client of the Chrome DevTools Protocol, in which no call can wait for ever.

https://chromedevtools.github.io/devtools-protocol/ . Pending calls of a crashed tab are never answered by the browser,
so every call has a deadline here, and `Inspector.targetCrashed` or a closed socket fails it at once.
"""

from __future__ import annotations

import collections
import json
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    Params: TypeAlias = dict[str, Any]  # what the protocol's documentation calls an object

READ_SIZE = 1 << 16  # bytes
CALL_TIMEOUT = 10.0  # seconds; a call that takes longer by nature (PDF, full page) says so


class CDPError(Exception):
    """The browser did not do what it was asked."""


class CommandFailed(CDPError):  # noqa: N818  (said as a sentence where it is caught)
    """The browser answered with an error."""


class CallTimeout(CDPError):  # noqa: N818
    """No answer before the deadline: the page is busy, or the tab is lost."""


class TooLong(CallTimeout):
    """What takes its time by nature (a print, a picture) took more than it may: as it would the next time."""


class TargetGone(CDPError):  # noqa: N818
    """The tab crashed or was closed, or the browser ended."""


class CDPEvent:
    """Something the browser told without being asked; `session` is '' in the connection's own."""

    __slots__ = ("method", "params", "session")

    def __init__(self, method: str, params: Params, session: str) -> None:
        self.method, self.params, self.session = method, params, session


class CDPConnection:
    """One conversation with the browser or with one of its tabs. Single-threaded.

    Messages end with a NUL, as on Chromium's own pipe; the relay of the crawl's browser takes them at a unix socket.
    """

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self.tab = ""  # the session whose crash is the end of it; workers say that they crashed when they just end
        self._buffer = bytearray()
        self._seen = 0  # so far there is no NUL in the buffer
        self._last_id = 0
        self._wanted: set[int] = set()
        self._replies: dict[int, Params] = {}
        self._events: collections.deque[CDPEvent] = collections.deque()

    @classmethod
    def open(cls, path: str, target: str = "") -> CDPConnection:
        """Connect to the browser whose socket is there, or to one of its tabs.

        Raises TargetGone where nothing listens there; where there is no such tab, the first call does.
        """
        stream = socket.socket(socket.AF_UNIX)
        try:
            stream.connect(path)
            stream.sendall(json.dumps({"target": target}).encode() + b"\0")
        except OSError as error:
            stream.close()
            raise TargetGone(f"no browser answers at {path}: {error}") from error
        return cls(stream)

    def fileno(self) -> int:
        """For selectors. Look at `pending` first: an event may have been read already."""
        return self._stream.fileno()

    @property
    def pending(self) -> bool:
        return bool(self._events) or self._buffer.find(b"\0", self._seen) >= 0

    def send(self, method: str, params: Params | None = None, session: str = "") -> None:
        """Ask without caring for the answer."""
        self._write(method, params, session)

    def begin(self, method: str, params: Params | None = None, session: str = "") -> int:
        """Ask now; the answer is fetched by `reply(id)` once it is there."""
        identifier = self._write(method, params, session)
        self._wanted.add(identifier)
        return identifier

    def reply(self, identifier: int) -> Params | None:
        """Return the answer to `begin`, None while there is none. Raises CommandFailed."""
        message = self._replies.pop(identifier, None)
        if message is None:
            return None
        self._wanted.discard(identifier)
        if "error" in message:
            raise CommandFailed(str(message["error"].get("message", message["error"])))
        result: Params = message.get("result", {})
        return result

    def call(
        self, method: str, params: Params | None = None, *, timeout: float = CALL_TIMEOUT, session: str = ""
    ) -> Params:
        """Ask and wait for the answer. Raises CommandFailed, CallTimeout, TargetGone."""
        return self._answer(self.begin(method, params, session), method, timeout)

    def call_all(self, calls: Iterable[tuple[str, Params]], session: str = "") -> list[Params]:
        """Ask all at once, then wait for each answer: one way there and back instead of many. Raises as `call` does."""
        asked = [(self.begin(method, params, session), method) for method, params in calls]
        return [self._answer(identifier, method, CALL_TIMEOUT) for identifier, method in asked]

    def _answer(self, identifier: int, method: str, timeout: float) -> Params:
        deadline = time.monotonic() + timeout
        while True:
            result = self.reply(identifier)
            if result is not None:
                return result
            if not self._read(deadline - time.monotonic()):
                self._wanted.discard(identifier)
                raise CallTimeout(f"{method} was not answered within {timeout:.3g} s")

    def next_event(self, timeout: float) -> CDPEvent | None:
        """Return the next event, or None when an answer to `begin` came first or the time is over."""
        if not self._events:
            self._read(timeout)
        return self._events.popleft() if self._events else None

    def close(self) -> None:
        self._stream.close()

    def _write(self, method: str, params: Params | None, session: str) -> int:
        self._last_id += 1
        message: Params = {"id": self._last_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        self._stream.settimeout(CALL_TIMEOUT)
        try:
            self._stream.sendall(json.dumps(message).encode() + b"\0")
        except OSError as error:
            raise TargetGone(f"the browser is gone: {error}") from error
        return self._last_id

    def _read(self, timeout: float) -> bool:
        """Take one message, so that answers and events keep their order; False when none came whole in time."""
        deadline = time.monotonic() + timeout
        while (end := self._buffer.find(b"\0", self._seen)) < 0:
            self._seen = len(self._buffer)
            if not self._receive(deadline - time.monotonic()):
                return False
        message = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._seen = 0
        self._sort(json.loads(message))
        return True

    def _receive(self, timeout: float) -> bool:
        """Read a piece; False when none came in time."""
        if timeout <= 0:
            return False
        self._stream.settimeout(timeout)
        try:
            piece = self._stream.recv(READ_SIZE)
        except TimeoutError:
            return False
        except OSError as error:
            raise TargetGone(f"the browser or its tab is gone: {error}") from error
        if not piece:
            raise TargetGone("the browser or its tab is gone: it closed the connection")
        self._buffer += piece
        return True

    def _sort(self, message: Params) -> None:
        if "id" in message:
            if message["id"] in self._wanted:
                self._replies[message["id"]] = message
            return
        session = message.get("sessionId", "")
        if message["method"] == "Inspector.targetCrashed" and session == self.tab:
            raise TargetGone("the tab crashed")
        self._events.append(CDPEvent(message["method"], message.get("params", {}), session))
