"""What is known of a page while it loads: its document, whether it is at work or waits for servers, how it looks."""

from __future__ import annotations

import os
import time
import zlib

from archivebox.plugins.base.cdp import CommandFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import CDPConnection, CDPEvent, Params

REQUEST_TIME = 1.0  # seconds between a script's wish to go elsewhere and the request for it
REFRESH_MAX = 5.0  # seconds; a page that sends itself elsewhere later than this is content, not a way station


class Arrival:
    """What is known of the main frame, kept up to date by the events of the tab."""

    def __init__(self, frame: str) -> None:
        self._frame = frame
        self.loader = ""
        self.committed_at = self.loaded_at = self.expecting_until = 0.0
        self.busy_at = time.monotonic()
        self.navigations = 0
        self.response: Params = {}
        self.latest_response: Params = {}  # also of a document that was never shown
        self.latest_status = 0  # also of an answer that the browser gives nobody, as 304 to what it never had
        self.asked_for = ""  # the URL of the latest document, after redirects
        self.download = ""
        self.torn = ""  # the code of what ended the document before it was whole
        self.unreachable = ""  # where a script or a refresh went, and nobody was: the browser shows a page of its own
        self.failure = ""  # the code of what went wrong with the latest document
        self._responses: dict[str, Params] = {}
        self._open_requests: dict[str, str] = {}  # request id: loader
        self._latest_document = ""  # the request for the latest document
        self._next_document = ""  # the request for a document that is to replace the one that is there
        self.stopped_loading = False

    @property
    def is_leaving(self) -> bool:
        """Another document has been asked for, or is about to be."""
        return bool(self._next_document) or time.monotonic() < self.expecting_until

    def quiet_since(self, now: float) -> float:
        """Return for how many seconds no request has been under way."""
        return 0.0 if self._open_requests else now - self.busy_at

    def handle_event(self, event: CDPEvent) -> None:
        params = event.params
        if event.method == "Page.lifecycleEvent":
            if params["name"] == "load" and params["frameId"] == self._frame and params["loaderId"] == self.loader:
                self.loaded_at = time.monotonic()
        elif event.method == "Page.frameNavigated" and "parentId" not in params["frame"]:
            self._committed(params["frame"]["loaderId"], params["frame"].get("unreachableUrl", ""))
        elif event.method == "Page.frameScheduledNavigation" and params["frameId"] == self._frame:
            if params["delay"] <= REFRESH_MAX:
                self.expecting_until = time.monotonic() + params["delay"] + REQUEST_TIME
        elif event.method == "Page.frameRequestedNavigation" and params["frameId"] == self._frame:
            self.expecting_until = max(self.expecting_until, time.monotonic() + REQUEST_TIME)
        elif event.method == "Page.frameStoppedLoading" and params["frameId"] == self._frame:
            self.stopped_loading = True
        elif event.method == "Page.frameClearedScheduledNavigation" and params["frameId"] == self._frame:
            self.expecting_until = 0.0
        elif event.method == "Page.downloadWillBegin" and not self.committed_at:  # a page may start one later
            self.download = params.get("suggestedFilename") or "download"
        elif event.method.startswith("Network."):
            self._network(event.method, params)

    def _committed(self, loader: str, unreachable: str) -> None:
        self.unreachable = unreachable
        self.loader, self.loaded_at, self.expecting_until = loader, 0.0, 0.0
        self._next_document, self.stopped_loading, self.torn = "", False, ""
        # The requests of the document before are never reported as finished.
        self._open_requests = {request: its for request, its in self._open_requests.items() if its == loader}
        self.committed_at = self.busy_at = time.monotonic()
        self.navigations += 1
        self.response = self._responses.get(loader, {})

    def _network(self, method: str, params: Params) -> None:
        if method == "Network.requestWillBeSent":
            self._open_requests[params["requestId"]] = params["loaderId"]
            if params.get("type") == "Document" and params.get("frameId") == self._frame:
                self._next_document = self._latest_document = params["requestId"]
                self.asked_for = params["request"]["url"]
        elif method == "Network.responseReceivedExtraInfo":
            if params["requestId"] == self._latest_document:
                self.latest_status = int(params["statusCode"])
            return
        elif method == "Network.responseReceived":
            if params["type"] == "Document" and params.get("frameId") == self._frame:
                self._responses[params["loaderId"]] = self.latest_response = params["response"]
                if params["loaderId"] == self.loader:
                    self.response = params["response"]
            return
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            self._open_requests.pop(params["requestId"], None)
            if params["requestId"] == self.loader and "errorText" in params and not params.get("canceled"):
                self.torn = params["errorText"]
            if params["requestId"] == self._next_document:
                self._next_document, self.failure = "", params.get("errorText", "")
        else:
            return
        self.busy_at = time.monotonic()


FIRST_LOOK = 0.1  # seconds after the navigation
LOOK_EVERY = 0.25  # seconds; a page that waits keeps the next one from its tab until two looks have found nothing
AT_WORK = 0.1  # of the time; of a page that waits it is under 0.01, of one that is being built 0.3 to 1
NEVER = float("inf")


class Idleness:
    """Looks at how long the thread of one page was at work, until that is next to nothing between two looks.

    It is asked for nothing else meanwhile, and answers from another thread, however busy it is. Performance.enable has
    to come before the navigation, during which such calls wait for the new document.
    """

    def __init__(self, connection: CDPConnection) -> None:
        self._connection = connection
        self._look_at = time.monotonic() + FIRST_LOOK
        self._asked = 0
        self._last: Params = {}

    def pause(self, now: float) -> float:
        """Return for how many seconds there is nothing to do here, unless the browser tells something."""
        return max(0.0, self._look_at - now)

    def is_found(self) -> bool:
        """Take what the browser has told, and look again when it is time; True once, as soon as the page waits."""
        if self._asked and (seen := self._seen()) is not None:
            self._asked, self._look_at = 0, time.monotonic() + LOOK_EVERY
            before, self._last = self._last, seen
            if is_idle(before, seen):
                self._look_at = NEVER
                return True
        if not self._asked and time.monotonic() >= self._look_at:
            self._asked, self._look_at = self._connection.begin("Performance.getMetrics"), NEVER
        return False

    def _seen(self) -> Params | None:
        """Return the numbers of the look that was asked for, None while there is no answer."""
        try:
            answer = self._connection.reply(self._asked)
        except CommandFailed:  # the page has just gone elsewhere
            return {}
        return None if answer is None else {metric["name"]: metric["value"] for metric in answer["metrics"]}


def is_idle(before: Params, now: Params) -> bool:
    """Say whether a page did next to nothing between two looks; not where one of them told nothing."""
    if not (before and now):
        return False
    at_work: float = now["TaskDuration"] - before["TaskDuration"]
    seconds: float = now["Timestamp"] - before["Timestamp"]
    return 0 <= at_work < AT_WORK * seconds


ENDLESS = 10_000  # milliseconds; an animation that goes on for longer is part of the page
PICTURES_MAX = 2000  # of which it is asked whether they have come


def layout_script() -> str:
    """Return the expression that looks."""
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "look.js"), encoding="utf-8") as file:
        return file.read().replace("ENDLESS", str(ENDLESS)).replace("MOST", str(PICTURES_MAX))


def likeness(seen: Params) -> int:
    """Return a number by which two looks at the same layout are known."""
    return zlib.crc32(seen["shape"].encode())
