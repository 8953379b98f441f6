"""What is fetched in the browser's place: a page's own document that is a file, and what a stopped page did not get.

Of a file the browser is told that it was a download.

The browser's viewers and players cost more than the file and show nothing that can be kept. Downloads are forbidden to
it, so the navigation ends there, as one that led to a file.
"""

from __future__ import annotations

import base64
import os
import time

from archivebox.plugins.base.answer_headers import essence_of

from .exchange import RecordedExchange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from archivebox.plugins.base.cdp import CDPEvent, Params

    Ask = Callable[[str, Params, str, Callable[[Params | None], None]], None]

READ_SIZE = 1 << 20  # bytes of a file in one answer
LARGE = 50_000_000  # bytes of a file that would keep the navigation waiting for as long as it may
POLITE = 10  # added to our nice value: who reads a large file leaves the processor to pages
FETCHED = frozenset({"Image", "Stylesheet", "Script", "Font"})  # what ends by itself, and is the same each time
FETCHED_AT_ONCE = 6  # as many as a browser has open to one host
NOT_OF_EMPTY = frozenset({"content-disposition", "content-encoding", "content-length", "transfer-encoding"})


class Download:
    """One file on its way into the body of `hop`; `end` is called once, when no more will come."""

    def __init__(self, ask: Ask, session: str, hop: RecordedExchange, end: Callable[[], None]) -> None:
        self._ask, self._session, self._hop, self._end = ask, session, hop, end
        self._paused: Params = {}
        self._cancel_at = 0.0  # when the navigation is let go that waits for it; 0: none does
        self._stream = ""
        hop.taken = hop.is_file = True

    def fetch_body(self, paused: Params, wait: float) -> None:
        """Take the body from the browser, whose request waits; it is ours from then on.

        What is large or takes longer than `wait` seconds is fetched anew, without the navigation.
        """
        self._paused, self._cancel_at = paused, time.monotonic() + wait
        self._hop.answered(as_response(paused), wire_headers=True)
        length = self._hop.header("content-length")
        if length.isdigit() and int(length) >= LARGE:
            self._fetch_large()
            return
        self._ask("Fetch.takeResponseBodyAsStream", self._request(), self._session, self._opened)

    def fetch(self) -> None:
        """Have the file from its beginning, without a navigation."""
        self._hop.body.clear()
        wish = {"frameId": self._hop.frame, "url": self._hop.url}
        options = {"options": {"disableCache": False, "includeCredentials": True}}
        self._ask("Network.loadNetworkResource", wish | options, self._session, self._fetched)

    def _fetch_large(self) -> None:
        """Have a file without the navigation, as it takes longer than a page may."""
        self._cancel_navigation()
        os.nice(POLITE)
        self.fetch()

    def _request(self) -> Params:
        return {"requestId": self._paused["requestId"]}

    def _opened(self, answer: Params | None) -> None:
        if answer is None:
            self._cancel_navigation()
            self._finish("disconnect")
        else:
            self._stream = answer["stream"]
            self._read()

    def _read(self) -> None:
        self._ask("IO.read", {"handle": self._stream, "size": READ_SIZE}, self._session, self._took)

    def _took(self, answer: Params | None) -> None:
        if answer is not None:
            data = answer["data"]
            self._hop.body.write(base64.b64decode(data) if answer.get("base64Encoded") else data.encode())
        if answer is None or answer["eof"] or self._hop.body.cut:
            self._ask("IO.close", {"handle": self._stream}, self._session, _nothing)
            self._cancel_navigation()
            self._finish("disconnect" if answer is None else "")
        elif self._cancel_at and time.monotonic() > self._cancel_at:
            self._fetch_large()
        else:
            self._read()

    def _cancel_navigation(self) -> None:
        """End the navigation; with it ends what the browser would still get of the body."""
        if self._cancel_at:
            self._cancel_at = 0.0
            self._ask("Fetch.fulfillRequest", self._request() | _as_download(self._paused), self._session, _nothing)

    def _fetched(self, answer: Params | None) -> None:
        resource = answer["resource"] if answer else {}
        if not self._hop.status and resource.get("httpStatusCode"):  # nothing of it had come before
            headers = resource.get("headers", {})
            told = {"status": resource["httpStatusCode"], "statusText": "", "headers": headers}
            self._hop.answered(told | {"mimeType": essence_of(_content_type(headers))}, wire_headers=False)
        self._opened(resource if resource.get("stream") else None)

    def _finish(self, truncated: str) -> None:
        whole = not self._hop.header("content-length").isdigit() or self._hop.is_whole
        self._hop.truncated = truncated or ("" if whole or self._hop.header("content-encoding") else "disconnect")
        self._end()


class CutOff:
    """Files that were on their way when the loading of the page was stopped: each is fetched once more.

    `fetch` begins with one, whose end `ended` is told. `lacking`: URLs of which nothing whole has come.
    """

    def __init__(self, main_frame: str, fetch: Callable[[RecordedExchange], None]) -> None:
        self._main_frame, self._fetch = main_frame, fetch
        self.lacking: set[str] = set()
        self.arrived()

    def arrived(self) -> None:
        """Another document is there: what the one before did not get is nobody's loss."""
        self._is_loaded = self._is_stopped = False
        self._waiting: dict[str, RecordedExchange] = {}
        self._under_way: set[RecordedExchange] = set()
        self.lacking.clear()

    def took(self, event: CDPEvent) -> None:
        """Take Page.lifecycleEvent. What a page calls off before its load, where nobody stops it, it does not want."""
        if event.params["name"] == "load" and event.params["frameId"] == self._main_frame and not self._is_stopped:
            self._is_loaded = True
            self._waiting.clear()

    def stopped(self) -> None:
        """Take Page.frameStoppedLoading of the main frame, which also follows its load."""
        self._is_stopped = not self._is_loaded
        self._go_on()

    def broke_off(self, hop: RecordedExchange) -> None:
        """Take an exchange that the browser has called off."""
        if not self._is_loaded and hop.type in FETCHED and hop.method == "GET":
            self._waiting[hop.url] = hop
            self._go_on()

    def ended(self, hop: RecordedExchange) -> None:
        """Take a fetched one of which no more will come."""
        if hop.status and not hop.truncated:
            self.lacking.discard(hop.url)
        self._under_way.discard(hop)
        self._go_on()

    def _go_on(self) -> None:
        """The latest first: what was waited for longest may never come."""
        if self._is_stopped:
            self.lacking.update(self._waiting)
        while self._is_stopped and self._waiting and len(self._under_way) < FETCHED_AT_ONCE:
            again = self._waiting.popitem()[1].again(time.time())
            self._under_way.add(again)
            self._fetch(again)


def _nothing(answer: Params | None) -> None:
    """Nothing depends on this answer."""


def as_response(paused: Params) -> Params:
    """Return what Network.Response would say of a response that waits."""
    headers: dict[str, str] = {}
    for each in paused["responseHeaders"]:
        former = headers.get(each["name"])
        headers[each["name"]] = f"{former}\n{each['value']}" if former else each["value"]
    return {
        "status": paused["responseStatusCode"],
        "statusText": paused.get("responseStatusText", ""),
        "headers": headers,
        "mimeType": essence_of(_content_type(headers)),
    }


def _content_type(headers: dict[str, str]) -> str:
    return next((value for name, value in headers.items() if name.lower() == "content-type"), "")


def _as_download(paused: Params) -> Params:
    """Return the answer that the browser gets: the same without a body, to be saved and not shown."""
    kept = [each for each in paused["responseHeaders"] if each["name"].lower() not in NOT_OF_EMPTY]
    attached = {"name": "Content-Disposition", "value": "attachment"}
    return {"responseCode": paused["responseStatusCode"], "responseHeaders": [*kept, attached], "body": ""}
