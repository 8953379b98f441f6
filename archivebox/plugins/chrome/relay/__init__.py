"""Lets many speak to one Chromium over its pipe (`--remote-debugging-pipe`), and only those who may.

A debugging port takes orders from every process of the machine, and `file:///…` is one of the pages it opens. Here one
comes in through a socket in a folder that is ours alone, with NUL between messages as on the pipe itself, or through a
WebSocket on loopback whose address nobody can guess. Each client has a session of its own with the browser or with one
tab (flattened, https://chromedevtools.github.io/devtools-protocol/tot/Target/), sees that and what it opens from there,
and takes all of it along when it goes. Identifiers of calls count within a session, so they pass as they are.
"""

from __future__ import annotations

import collections
import json
import os
import selectors
import socket

from archivebox.plugins.base.cdp import CDPEvent

from .channel import PeerChannel, Plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from archivebox.plugins.base.cdp import Params

    from .websocket import WebSocket

SOCKET = "cdp"  # its name in the browser's folder
GUESTS_MAX = 32  # connections that have not said what they want; one more, and the oldest goes
# What Chromium appends to each message of a session; an identifier has 32 digits (base::UnguessableToken).
TAIL = b',"sessionId":"'
TAIL_SIZE = len(TAIL) + 32 + len(b'"}')
ATTACHED, DETACHED = b'{"method":"Target.attachedToTarget"', b'{"method":"Target.detachedFromTarget"'
NOT_YOURS = {"code": -32001, "message": "Session with given id not found."}  # Chromium's own words
NO_DOWNLOADS = {"behavior": "deny"}


class Client:
    """One who came in; `session` is its own, '' until the browser has given it one."""

    def __init__(self, relay: Relay, stream: socket.socket, framing: Plain | WebSocket) -> None:
        self._relay = relay
        self.session = ""
        self.greeted = self.took_downloads = False
        self._early: list[bytes] = []  # said before there was a session
        self.channel = PeerChannel(stream, framing, relay.selector, self._receive, lambda: relay.left(self))

    def begin(self, session: str) -> None:
        """Have the session that was asked for."""
        self.session = session
        for message in self._early:
            self._relay.from_client(self, message)
        self._early.clear()

    def _receive(self, message: bytes) -> None:
        if not self.greeted:
            self.greeted = True
            self._relay.welcome(self, message)
        elif self.session:
            self._relay.from_client(self, message)
        else:
            self._early.append(message)


class Relay:
    """Serves on `selector` (each key's data is what to call with its mask); `ended` once the browser is gone."""

    def __init__(self, browser: socket.socket, folder: str, selector: selectors.BaseSelector) -> None:
        self.selector = selector
        self.told: Callable[[CDPEvent], None] = lambda event: None  # noqa: ARG005  (nobody has asked to be told yet)
        self.ended = False
        self._last_id = 0
        self._arriving: dict[int, Client] = {}  # by the call that asks for their session
        self._asked: dict[int, Callable[[Params], None]] = {}  # whom to tell the answer to our own calls
        self._owners: dict[str, Client] = {}  # of sessions, those opened from a client's first one too
        self._guests: collections.deque[Client] = collections.deque()
        self._browser = PeerChannel(browser, Plain(), selector, self._from_browser, self._end)
        self.socket = os.path.join(folder, SOCKET)
        self.listen(socket.AF_UNIX, self.socket, self.add_client)
        secret = os.urandom(16).hex()
        address = self.listen(socket.AF_INET, ("127.0.0.1", 0), lambda stream: self._add_by_websocket(stream, secret))
        self.url = f"ws://127.0.0.1:{address[1]}/devtools/browser/{secret}"
        self.send("Browser.setDownloadBehavior", NO_DOWNLOADS)

    def send(self, method: str, params: Params | None = None) -> int:
        """Ask the browser on our own account; returns the call's id."""
        self._last_id += 1
        self._browser.send(json.dumps({"id": self._last_id, "method": method, "params": params or {}}).encode())
        return self._last_id

    def ask(self, method: str, then: Callable[[Params], None]) -> None:
        """Ask the browser on our own account; `then` is called with what it answers, if that is no error."""
        self._asked[self.send(method)] = then

    def welcome(self, client: Client, greeting: bytes) -> None:
        """Ask for the session of a client whose first message is `{"target": "<id of a tab, or ''>"}`."""
        target = _object(greeting).get("target", "")
        if target:
            call = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})
        else:
            call = self.send("Target.attachToBrowserTarget")
        self._arriving[call] = client
        if client in self._guests:
            self._guests.remove(client)

    def from_client(self, client: Client, message: bytes) -> None:
        """Pass a call on, in the client's own session unless it names another of its own."""
        call = _object(message)
        session = call.setdefault("sessionId", client.session)
        if self._owners.get(session) is not client:
            client.channel.send(json.dumps({"id": call.get("id"), "error": NOT_YOURS}).encode())
            return
        if call.get("method") == "Browser.setDownloadBehavior":
            client.took_downloads = True
        self._browser.send(json.dumps(call).encode())

    def left(self, client: Client) -> None:
        """Take back what a client had who is gone."""
        if client in self._guests:
            self._guests.remove(client)
        self._owners = {session: owner for session, owner in self._owners.items() if owner is not client}
        if client.session and not self.ended:
            self.send("Target.detachFromTarget", {"sessionId": client.session})
            if client.took_downloads:  # with its wish ours went, too
                self.send("Browser.setDownloadBehavior", NO_DOWNLOADS)

    def _from_browser(self, message: bytes) -> None:
        if not (message.startswith(TAIL, -TAIL_SIZE) and message.endswith(b'"}')):
            self._to_us(_object(message))
            return
        session = message[-34:-2].decode()
        owner = self._owners.get(session)
        if owner is None:
            return
        if message.startswith(ATTACHED):
            self._owners[_object(message)["params"]["sessionId"]] = owner
        elif message.startswith(DETACHED):
            self._owners.pop(_object(message)["params"]["sessionId"], None)
        if session == owner.session:
            owner.channel.send(message[:-TAIL_SIZE], b"}")
        else:
            owner.channel.send(message)

    def _to_us(self, message: Params) -> None:
        """Take what belongs to no client: answers to our calls, and what the browser tells of its tabs."""
        client = self._arriving.pop(message.get("id", 0), None)
        then = self._asked.pop(message.get("id", 0), None)
        if client is not None:
            self._begin(client, message.get("result", {}).get("sessionId", ""))
        elif then is not None and "result" in message:
            then(message["result"])
        elif message.get("method") == "Target.detachedFromTarget":  # its tab was closed
            gone = self._owners.get(message["params"]["sessionId"])
            if gone is not None:
                gone.channel.close()
        elif "method" in message:
            self.told(CDPEvent(message["method"], message.get("params", {}), ""))

    def _begin(self, client: Client, session: str) -> None:
        if not session:  # there is no such tab
            client.channel.close()
        elif client.channel.closed:
            self.send("Target.detachFromTarget", {"sessionId": session})
        else:
            self._owners[session] = client
            client.begin(session)

    def _add_by_websocket(self, stream: socket.socket, secret: str) -> None:
        from .websocket import WebSocket  # loads OpenSSL, and few ask by it

        self.add_client(stream, WebSocket(secret))

    def add_client(self, stream: socket.socket, framing: Plain | WebSocket | None = None) -> None:
        """Have one more client; it begins with its greeting."""
        self._guests.append(Client(self, stream, framing or Plain()))
        if len(self._guests) > GUESTS_MAX:
            self._guests[0].channel.close()

    def listen(
        self, family: int, address: str | tuple[str, int], welcome: Callable[[socket.socket], None]
    ) -> tuple[str, int]:
        """Call `welcome` with whoever connects to an address; returns the address as it has become."""
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setblocking(False)
        listener.bind(address)
        listener.listen()

        def accept(_: int) -> None:
            try:
                stream, _ = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return  # it has left again
            if family == socket.AF_INET:
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            welcome(stream)

        self.selector.register(listener, selectors.EVENT_READ, accept)
        name: tuple[str, int] = listener.getsockname()
        return name

    def _end(self) -> None:
        self.ended = True


def _object(message: bytes) -> Params:
    """Return the JSON object of a message; what is none counts as an empty one, to which the browser has an answer."""
    try:
        value = json.loads(message)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
