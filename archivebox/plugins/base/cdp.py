"""A thin blocking client of the Chrome DevTools Protocol, in which no call can wait for ever.

https://chromedevtools.github.io/devtools-protocol/ . Pending calls of a crashed tab are never answered by the browser,
so every call has a deadline here, and `Inspector.targetCrashed` or a closed socket fails it at once.
"""

from __future__ import annotations

import collections
import json
import time

import websocket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Params: TypeAlias = dict[str, Any]  # what the protocol's documentation calls an object

CALL_TIMEOUT = 10.0  # seconds; a call that takes longer by nature (PDF, full page) says so


class CDPError(Exception):
    """The browser did not do what it was asked."""


class CommandFailed(CDPError):  # noqa: N818  (said as a sentence where it is caught)
    """The browser answered with an error."""


class CallTimeout(CDPError):  # noqa: N818
    """No answer before the deadline: the page is busy, or the tab is lost."""


class TargetGone(CDPError):  # noqa: N818
    """The tab crashed or was closed, or the browser ended."""


class Event:
    """Something the browser told without being asked; `session` is '' on a socket of one target."""

    __slots__ = ("method", "params", "session")

    def __init__(self, method: str, params: Params, session: str) -> None:
        self.method, self.params, self.session = method, params, session


class Connection:
    """One websocket to the browser or to one of its tabs. Single-threaded."""

    def __init__(self, url: str, timeout: float = CALL_TIMEOUT) -> None:
        """Connect. Raises TargetGone where nothing listens there or the target does not exist."""
        self.url = url
        self._last_id = 0
        self._wanted: set[int] = set()
        self._replies: dict[int, Params] = {}
        self._events: collections.deque[Event] = collections.deque()
        try:
            # An Origin would have to be allowed at the browser's start, for pages too; a proxy must never see this.
            self._socket = websocket.create_connection(
                url,
                timeout=timeout,
                suppress_origin=True,
                skip_utf8_validation=True,
                http_no_proxy=["127.0.0.1", "localhost", "::1"],
            )
        except (OSError, websocket.WebSocketException) as error:
            raise TargetGone(f"no browser or tab answers at {url}: {error}") from error

    def fileno(self) -> int:
        """For selectors. Look at `pending` first: an event may have been read already."""
        socket = self._socket.sock
        return socket.fileno() if socket is not None else -1

    @property
    def pending(self) -> bool:
        return bool(self._events)

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
        deadline = time.monotonic() + timeout
        identifier = self.begin(method, params, session)
        while True:
            result = self.reply(identifier)
            if result is not None:
                return result
            if not self._read(deadline - time.monotonic()):
                self._wanted.discard(identifier)
                raise CallTimeout(f"{method} was not answered within {timeout:g} s")

    def next_event(self, timeout: float) -> Event | None:
        """Return the next event, or None when an answer to `begin` came first or the time is over."""
        if not self._events:
            self._read(timeout)
        return self._events.popleft() if self._events else None

    def close(self) -> None:
        self._socket.close(timeout=0)

    def _write(self, method: str, params: Params | None, session: str) -> int:
        self._last_id += 1
        message: Params = {"id": self._last_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        try:
            self._socket.send(json.dumps(message))
        except (OSError, websocket.WebSocketException) as error:
            raise TargetGone(f"the browser is gone: {error}") from error
        return self._last_id

    def _read(self, timeout: float) -> bool:
        """Take one message off the socket; False when none came in time."""
        if timeout <= 0:
            return False
        self._socket.settimeout(timeout)
        try:
            text = self._socket.recv()
        except websocket.WebSocketTimeoutException:
            return False
        except (OSError, websocket.WebSocketException) as error:
            raise TargetGone(f"the browser or its tab is gone: {error}") from error
        if not text:
            raise TargetGone("the browser closed the connection")
        self._sort(json.loads(text))
        return True

    def _sort(self, message: Params) -> None:
        if "id" in message:
            if message["id"] in self._wanted:
                self._replies[message["id"]] = message
            return
        if message["method"] == "Inspector.targetCrashed":
            raise TargetGone("the tab crashed")
        self._events.append(Event(message["method"], message.get("params", {}), message.get("sessionId", "")))
