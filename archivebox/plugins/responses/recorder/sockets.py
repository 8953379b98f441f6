"""What goes over the WebSockets of a page: a line of `sockets.jsonl` for each message, in the order of their coming.

No WARC record is for messages (WARC 1.1 knows exchanges of a request and a response), so they have a file of their own.
"""

from __future__ import annotations

import json
import os

from archivebox.plugins.base.warc_file import moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from archivebox.plugins.base.cdp import CDPEvent, Params

FILE = "sockets.jsonl"
TEXT = 1  # opcode of a message of text (RFC 6455, 5.2); all others come in base64


class Sockets:
    """The sockets of one session; `limit`: bytes of lines that are kept of all of them."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._urls: dict[str, str] = {}
        self._names: dict[str, str] = {}  # what tells two connections to one URL apart, also those of another session
        self._clock = 0.0  # what the time of day is beyond the browser's own clock
        self.takers: dict[str, Callable[[CDPEvent], None]] = {
            "Network.webSocketCreated": lambda event: self._opened(event.params),
            "Network.webSocketWillSendHandshakeRequest": lambda event: self._set_clock(event.params),
            "Network.webSocketFrameSent": lambda event: self._message("sent", event.params),
            "Network.webSocketFrameReceived": lambda event: self._message("received", event.params),
            "Network.webSocketFrameError": lambda event: self._failed(event.params),
            "Network.webSocketClosed": lambda event: self._write("closed", event.params, {}),
        }

    def _opened(self, params: Params) -> None:
        self._urls[params["requestId"]] = params["url"]
        self._names[params["requestId"]] = os.urandom(4).hex()

    def _set_clock(self, params: Params) -> None:
        self._clock = params["wallTime"] - params["timestamp"]
        self._write("opened", params, {})

    def _message(self, way: str, params: Params) -> None:
        frame = params["response"]
        name = "text" if frame["opcode"] == TEXT else "base64"
        self._write(way, params, {name: frame["payloadData"]})

    def _failed(self, params: Params) -> None:
        self._write("failed", params, {"error": params["errorMessage"]})

    def _write(self, event: str, params: Params, more: dict[str, str]) -> None:
        url, name = self._urls.get(params["requestId"], ""), self._names.get(params["requestId"], "")
        entry = {"time": moment(self._clock + params["timestamp"]), "event": event, "url": url, "socket": name, **more}
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if self._left <= 0:
            return
        if len(line) > self._left:
            line, self._left = b'{"event":"limit"}\n', 0
        self._left -= len(line)
        with open(FILE, "ab") as file:
            file.write(line)
