"""One request of the browser and what came back, as the protocol tells it piece by piece."""

from __future__ import annotations

import base64
import hashlib
import tempfile
import urllib.parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from archivebox.plugins.base.cdp import Params

BODILESS = frozenset({204, 205, 304})  # RFC 9110, 6.4.1
IN_MEMORY = 1 << 20  # bytes of a body; what is larger lies in a file without a name
REDIRECTS = frozenset({301, 302, 303, 307, 308})


class RecordedBody:
    """The body of one answer while it arrives: takes bytes up to a limit; `cut` says that there were more."""

    __slots__ = ("_hash", "cut", "file", "limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.clear()

    def clear(self) -> None:
        """Forget all of it."""
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY, dir=".")  # noqa: SIM115  (lives as long as we)
        self._hash = hashlib.sha256()
        self.size, self.cut = 0, False

    def write(self, data: bytes) -> None:
        room = self.limit - self.size
        if len(data) > room:
            self.cut, data = True, data[:room]
        self.file.write(data)
        self._hash.update(data)
        self.size += len(data)

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


class RecordedExchange:
    """One hop: a request that is redirected is several of them.

    `sent` and `received` are the headers as they went over the wire, where the browser told; else those it made up.
    `source` is `network`, `cache` or `service_worker`. `body` is decoded: the browser undoes transfer and content
    encodings. `truncated` is a word of WARC-Truncated, '' where the body is whole.
    """

    def __init__(self, params: Params, limit: int, *, main: bool = False) -> None:
        request = params["request"]
        self.url: str = request["url"].partition("#")[0]
        self.method: str = request["method"]
        self.sent: dict[str, str] = request["headers"]
        self.post_data = b"".join(
            base64.b64decode(each.get("bytes", "")) for each in request.get("postDataEntries", ())
        )
        self.type: str = params.get("type", "")
        self.frame: str = params.get("frameId", "")
        self.loader: str = params.get("loaderId", "")
        self.initiator: str = _initiator(params.get("initiator", {}))
        self.started: float = params.get("wallTime", 0.0)
        self.began: float = params.get("timestamp", 0.0)
        self.main = main
        self.because = ""  # why the main frame went there
        self.redirected_to = ""
        self.status, self.reason, self.mime = 0, "", ""
        self.received: dict[str, str] = {}
        self.confirmed: dict[str, str] = {}  # headers of a 304 by which the server let the cache answer
        self.protocol = self.address = ""
        self.tls: Params | None = None
        self.source = "network"
        self.body = RecordedBody(limit)
        self.announced = 0  # bytes of body that the browser says have come
        self.wire = 0  # bytes that came over the network, headers included
        self.seconds = 0.0
        self.error = self.truncated = ""
        self.expects_wire_headers = False
        self.asked = False  # the browser was asked for what it has of the body
        self.taken = False  # the body was taken before the page got it
        self.is_file = False  # the page's own document, which is no page: the browser got nothing of it
        self.complete = False
        self.ended = False  # the browser says that all of it has come
        self.is_ours = False  # asked for by us, not by the page

    def again(self, started: float) -> RecordedExchange:
        """Return another exchange for the same file, begun at `started`."""
        told: Params = {"url": self.url, "method": self.method, "headers": self.sent}
        about = {"type": self.type, "frameId": self.frame, "loaderId": self.loader, "wallTime": started}
        return RecordedExchange({"request": told, "initiator": {"url": self.initiator}, **about}, self.body.limit)

    def answered(self, response: Params, *, wire_headers: bool) -> None:
        """Take Network.Response."""
        self.status, self.reason = response["status"], response["statusText"]
        self.received, self.mime = response["headers"], response["mimeType"]
        self.protocol = response.get("protocol", "")
        self.address = response.get("remoteIPAddress", "").strip("[]")
        self.tls = response.get("securityDetails")
        self.wire = response.get("encodedDataLength", 0)
        self.expects_wire_headers = wire_headers
        if response.get("fromServiceWorker"):
            self.source = "service_worker"
        elif response.get("fromDiskCache") or response.get("fromPrefetchCache"):
            self.source = "cache"

    def add_body(self, data: bytes) -> None:
        """Have the body that was taken before the page got it."""
        self.taken = True
        self.body.clear()
        self.body.write(data)

    def apply_wire_headers(self, params: Params) -> None:
        """Take responseReceivedExtraInfo. Where the cache asked, 304 is there, and 200 in what the page sees."""
        if params["statusCode"] == 304 and self.status != 304:
            self.confirmed = params["headers"]
        else:
            self.received, self.status = params["headers"], params["statusCode"]

    def apply_not_modified(self) -> None:
        """Be the answer of 304 that went over the wire."""
        self.status, self.reason, self.received = 304, "Not Modified", self.confirmed

    @property
    def has_no_body(self) -> bool:
        return self.method == "HEAD" or self.status in BODILESS or bool(self.redirected_to)

    @property
    def is_viewers(self) -> bool:
        """Whether this is the document of the browser's own viewer, told under the address of the PDF that it shows."""
        from_wire = self.address or self.received or self.source != "network"
        return self.type == "Document" and self.status == 200 and not from_wire

    @property
    def is_whole(self) -> bool:
        """Whether all came that was announced, whatever became of the connection."""
        return not self.header("content-encoding") and self.header("content-length") == str(self.body.size)

    def header(self, name: str) -> str:
        """Return a response header, '' where there is none."""
        return next((value for key, value in self.received.items() if key.lower() == name), "")

    @property
    def target(self) -> str:
        """The path and query, as a request line has it."""
        parts = urllib.parse.urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


class Chain:
    """The hops of one request id; headers from the wire come apart from them, in the same order."""

    def __init__(self) -> None:
        self.hops: list[RecordedExchange] = []
        self.sent: list[dict[str, str]] = []
        self.received: list[Params] = []
        self._saved = self._with_wire_headers = 0

    @property
    def last(self) -> RecordedExchange:
        return self.hops[-1]

    def pop_complete(self, *, waiting: bool = True) -> list[RecordedExchange]:
        """Return the hops about which everything is known by now (`waiting`: or will ever be), each once, in order."""
        whole: list[RecordedExchange] = []
        while self._saved < len(self.hops) and self._join(self.hops[self._saved], waiting=waiting):
            whole.append(self.hops[self._saved])
            self._saved += 1
        return whole

    @property
    def is_saved(self) -> bool:
        return 0 < self._saved == len(self.hops)

    def _join(self, hop: RecordedExchange, *, waiting: bool) -> bool:
        if not hop.complete:
            return False
        if hop.expects_wire_headers:
            number = self._with_wire_headers
            if number >= len(self.received) and waiting:
                return False
            if number < len(self.received):
                hop.apply_wire_headers(self.received[number])
            if number < len(self.sent):
                hop.sent = self.sent[number]
            self._with_wire_headers += 1
        return True


def _initiator(initiator: Params) -> str:
    """Return the URL of what asked for it, '' where it was the browser or the person."""
    frames = initiator.get("stack", {}).get("callFrames") or [{}]
    return str(initiator.get("url") or frames[0].get("url", ""))
