"""What the tab asked of the network and got: `events.jsonl`, written while it happens, read by the hooks after it.

One object a line. `event` is `tab` (a new tab begins here: what is above belongs to an earlier attempt), `request`,
`redirect`, `response`, `finished`, `failed`, `sent_headers`, `received_headers` (the latter: what went over the wire).
`id` is the browser's request id (a redirect keeps it), `time` is seconds since the epoch, `main` marks the page's own
document. Of what was sent, the values of Cookie, Authorization and headers that a setting added are left out: they are
secrets of the one who archives.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from archivebox.plugins.base.cdp import Event, Params

FILE = "events.jsonl"
SECRET_HEADERS = frozenset({"cookie", "authorization", "proxy-authorization"})


class NetworkLog:
    """Turns Network events of the protocol into lines of `events.jsonl`."""

    def __init__(self, file: BinaryIO, main_frame: str, time: float, hidden: frozenset[str] = SECRET_HEADERS) -> None:
        """`hidden`: request headers, in lower case, whose values are left out."""
        self._file, self._main_frame, self._hidden = file, main_frame, hidden
        self._clock = 0.0  # seconds to add to the protocol's monotonic time stamps
        self._mains: set[str] = set()
        self._takers = {
            "Network.requestWillBeSent": self._request,
            "Network.requestWillBeSentExtraInfo": self._sent_headers,
            "Network.responseReceived": self._response,
            "Network.responseReceivedExtraInfo": self._received_headers,
            "Network.loadingFinished": self._finished,
            "Network.loadingFailed": self._failed,
        }
        self._write({"event": "tab", "target": main_frame, "time": time})

    def take(self, event: Event) -> None:
        """Write down an event, if it is one of the network's."""
        taker = self._takers.get(event.method)
        if taker is not None:
            taker(event.params)

    def _request(self, params: Params) -> None:
        self._clock = params["wallTime"] - params["timestamp"]
        identifier, request = params["requestId"], params["request"]
        if params.get("type") == "Document" and params.get("frameId") == self._main_frame:
            self._mains.add(identifier)
        if "redirectResponse" in params:
            self._write(
                {"event": "redirect", **self._common(params), "to": request["url"]}
                | _described(params["redirectResponse"])
            )
        self._write(
            {
                "event": "request",
                **self._common(params),
                "url": request["url"],
                "method": request["method"],
                "headers": self._without_secrets(request["headers"]),
                "type": params.get("type", ""),
                "frame": params.get("frameId", ""),
                "loader": params["loaderId"],
            }
        )

    def _response(self, params: Params) -> None:
        self._write(
            {"event": "response", **self._common(params), "type": params.get("type", ""), "loader": params["loaderId"]}
            | _described(params["response"])
        )

    def _sent_headers(self, params: Params) -> None:
        headers = self._without_secrets(params["headers"])
        self._write({"event": "sent_headers", "id": params["requestId"], "headers": headers})

    def _received_headers(self, params: Params) -> None:
        self._write(
            {
                "event": "received_headers",
                "id": params["requestId"],
                "status": params["statusCode"],
                "headers": params["headers"],
            }
        )

    def _finished(self, params: Params) -> None:
        self._write({"event": "finished", **self._common(params), "bytes": params["encodedDataLength"]})

    def _failed(self, params: Params) -> None:
        self._write(
            {
                "event": "failed",
                **self._common(params),
                "error": params["errorText"],
                "canceled": bool(params.get("canceled")),
                "blocked": params.get("blockedReason", ""),
            }
        )

    def _common(self, params: Params) -> Params:
        common: Params = {"id": params["requestId"], "time": round(params["timestamp"] + self._clock, 6)}
        if params["requestId"] in self._mains:
            common["main"] = True
        return common

    def _without_secrets(self, headers: dict[str, str]) -> dict[str, str]:
        return {name: "[removed]" if name.lower() in self._hidden else value for name, value in headers.items()}

    def _write(self, record: Params) -> None:
        self._file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")


def _described(response: Params) -> Params:
    """Return what we keep of Network.Response."""
    return {
        "url": response["url"],
        "status": response["status"],
        "status_text": response["statusText"],
        "headers": response["headers"],
        "mime": response["mimeType"],
        "protocol": response.get("protocol", ""),
        "remote_address": response.get("remoteIPAddress", ""),
        "remote_port": response.get("remotePort", 0),
        "from_cache": bool(response.get("fromDiskCache") or response.get("fromServiceWorker")),
        "timing": response.get("timing"),
        "security": response.get("securityDetails"),
    }


def read_events(path: str) -> list[Params]:
    """Return the events of the latest tab; a last line that is still being written is left out."""
    events: list[Params] = []
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                record: Params = json.loads(line)
                if record["event"] == "tab":
                    events.clear()
                else:
                    events.append(record)
    return events
