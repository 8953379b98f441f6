#!/usr/bin/env python3
"""Take the Snapshot's tab to the URL and wait until the page has settled; `navigation.json` says what came of it.

Waits for the load event of whatever document the main frame has (a script or a refresh may replace the first one), then
for a moment without requests. A page that never finishes is stopped and captured as it is.
"""

from __future__ import annotations

import base64
import json
import time

from answers import declared_type, retry_after
from idleness import Idleness
from looks import likeness, look_script
from neterrors import Problem, problem_of
from others import take_back, tell

from archivebox.plugins.base import (
    Hook,
    Settings,
    failed,
    give_up_after,
    misconfigured,
    page_lost,
    patch_snapshot,
    succeeded,
    try_again,
    waiting,
    write_atomically,
)
from archivebox.plugins.base.cdp import CallTimeout, CDPError, CommandFailed, Event, TargetGone
from archivebox.plugins.base.media_types import is_page
from archivebox.plugins.base.stopping import TimeIsOver
from archivebox.plugins.base.tab import MARGIN, Tab, script_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

FILE = "navigation.json"
REQUEST_TIME = 1.0  # seconds between a script's wish to go elsewhere and the request for it
REFRESH_MAX = 5.0  # seconds; a page that sends itself elsewhere later than this is content, not a way station
STOP_TIME = 1.0  # seconds for Page.stopLoading to be told of
CALM_TIME = 0.2  # seconds without a new document after which a stop counts
STOPS = 10
HTML = ("text/html", "application/xhtml+xml")
UNKNOWN_TYPE = "application/octet-stream"
UNAUTHORIZED = 401
# An HTML document of which no more than its head came has no body: what is stopped is not completed.
HERE = """({
  url: location.href,
  mime: document.contentType,
  empty: document instanceof HTMLDocument ? !document.body : !document.documentElement,
})"""


class Arrival:
    """What is known of the main frame, kept up to date by the events of the tab."""

    def __init__(self, frame: str) -> None:
        self._frame = frame
        self.loader = ""
        self.committed_at = self.loaded_at = self.expecting_until = 0.0
        self.busy_at = time.monotonic()
        self.navigations = 0
        self.response: dict[str, object] = {}
        self.latest_response: dict[str, object] = {}  # also of a document that was never shown
        self.asked_for = ""  # the URL of the latest document, after redirects
        self.download = ""
        self.torn = ""  # the code of what ended the document before it was whole
        self._responses: dict[str, dict[str, object]] = {}
        self._open_requests: dict[str, str] = {}  # request id: loader
        self._next_document = ""  # the request for a document that is to replace the one that is there
        self.stopped_loading = False

    @property
    def leaving(self) -> bool:
        """Another document has been asked for, or is about to be."""
        return bool(self._next_document) or time.monotonic() < self.expecting_until

    def quiet_since(self, now: float) -> float:
        """Return for how many seconds no request has been under way."""
        return 0.0 if self._open_requests else now - self.busy_at

    def take(self, event: Event) -> None:
        params = event.params
        if event.method == "Page.lifecycleEvent":
            if params["name"] == "load" and params["frameId"] == self._frame and params["loaderId"] == self.loader:
                self.loaded_at = time.monotonic()
        elif event.method == "Page.frameNavigated" and "parentId" not in params["frame"]:
            self._committed(params["frame"]["loaderId"])
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

    def _committed(self, loader: str) -> None:
        self.loader, self.loaded_at, self.expecting_until = loader, 0.0, 0.0
        self._next_document, self.stopped_loading, self.torn = "", False, ""
        # The requests of the document before are never reported as finished.
        self._open_requests = {request: its for request, its in self._open_requests.items() if its == loader}
        self.committed_at = self.busy_at = time.monotonic()
        self.navigations += 1
        self.response = self._responses.get(loader, {})

    def _network(self, method: str, params: dict[str, object]) -> None:
        if method == "Network.requestWillBeSent":
            self._open_requests[params["requestId"]] = params["loaderId"]
            if params.get("type") == "Document" and params.get("frameId") == self._frame:
                self._next_document = params["requestId"]
                self.asked_for = params["request"]["url"]
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
                self._next_document = ""
        else:
            return
        self.busy_at = time.monotonic()


class Navigation:
    """One way to one URL."""

    def __init__(self, tab: Tab, url: str, settings: Settings) -> None:
        self._tab, self._url = tab, url
        self._load_time = min(settings.float("CHROME_PAGELOAD_TIMEOUT"), settings.timeout("CHROME") * 0.6)
        self._quiet, self._quiet_max = (
            settings.float("CHROME_QUIET_TIME"),
            settings.float("CHROME_QUIET_MAX"),
        )
        self._navigations_max = settings.int("CHROME_MAX_NAVIGATIONS")
        self._arrival = Arrival(tab.target_id)
        self._started = time.monotonic()
        self._asked, self._answered = 0, False
        self._looked_at, self._look = "", 0
        self._idleness = Idleness(tab.connection)
        self.problem: Problem | None = None
        self.code = ""  # the browser's own word for it
        self.stopped = ""

    def go(self) -> None:
        """Navigate and wait; afterwards the page is loaded, or stopped, or `problem` says why there is none."""
        self._listen()
        self._ask()
        if self._wants_login:
            self._ask_without_login()
        if self.stopped:
            self._stop()
            if not self._arrival.committed_at and self._arrival.latest_response:
                raise CallTimeout("the server answered, but the browser showed nothing of it")
            if not self._arrival.committed_at and not self.problem:
                silent = f"the server did not answer within {self._load_time:g} s"
                self.problem = Problem(silent, transient=True, reason="no_answer")

    def _ask(self) -> None:
        self._asked, self._answered = self._tab.connection.begin("Page.navigate", {"url": self._url}), False
        self._follow(time.monotonic() + self._load_time)

    @property
    def _wants_login(self) -> bool:
        return self.code == "net::ERR_INVALID_AUTH_CREDENTIALS"

    def _ask_without_login(self) -> None:
        """Have what the server shows to those who have no login, which the browser drops for a question of its own.

        Asked for once more: only of answers that are held up for us that question can be taken away, which costs time.
        """
        patterns = [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}]
        self._tab.call("Fetch.enable", {"patterns": patterns})
        self.problem, self.code, self._arrival = None, "", Arrival(self._tab.target_id)
        self._ask()
        self._tab.call("Fetch.disable")

    def _listen(self) -> None:
        """Have the tab's events told, and be sure of it, before anything is asked for.

        Page.navigate is the browser's own work, these calls are the renderer's. One that the renderer has not taken
        when the new document replaces the old is given to the new one, which has told of its arrival by then: the page
        is there and we never hear of it (8 of 8 with a renderer busy for 0.7 s, 1 of 42 with 15 times the load).
        """
        self._tab.make_answer()  # the page of an earlier attempt may be busy for ever
        wants = [("Page.setLifecycleEventsEnabled", {"enabled": True}), ("Network.enable", {})]
        self._tab.connection.call_all([("Page.enable", {}), *wants, ("Performance.enable", {})])

    def _stop(self) -> None:
        """Stop the page, again while it goes on: a navigation that has begun to commit survives the first stop."""
        for _ in range(STOPS):
            self._tab.connection.send("Page.stopLoading")
            self._follow(time.monotonic() + STOP_TIME, stopping=True)
            before, calm = self._arrival.navigations, time.monotonic() + CALM_TIME
            while (left := calm - time.monotonic()) > 0:
                self._take(self._tab.connection.next_event(left))
            if self._arrival.navigations == before and not self._arrival.leaving:
                return

    def record(self, hook: Hook) -> dict[str, object]:
        """Return what `navigation.json` says; asks the page, which may have to be freed from a busy script first."""
        static = bool(self._arrival.download)
        record: dict[str, object] = {"url": self._url, "final_url": self._url}
        response = self._arrival.response or self._arrival.latest_response
        mime = str(response.get("mimeType", ""))
        if not self.problem and not static:
            self._tab.make_answer()
            here = self._tab.evaluate(HERE)
            record["final_url"] = here["url"]
            if here["empty"]:  # nothing to read, and nothing is ever painted: a screenshot would wait for ever
                nothing = f"the server sent nothing readable: {self.stopped or 'an empty document'}"
                self.problem = Problem(nothing, transient=bool(self.stopped), reason="no_page")
            mime = mime or here["mime"]
            static = not is_page(mime)
        return record | {
            "snapshot_id": hook.snapshot_id,
            "error": self.problem.sentence if self.problem else "",
            "code": self.code,
            "transient": bool(self.problem and self.problem.transient),
            "status": response.get("status"),
            "status_text": response.get("statusText"),
            "mime": declared_type(response) or mime,
            "retry_after": retry_after(response),
            "static": static,
            "download": self._arrival.download,
            "stopped": self.stopped,
            "navigations": self._arrival.navigations,
            "remote_address": response.get("remoteIPAddress"),
            "loader_id": self._arrival.loader,
            "look": self._seen_at_the_load(),
            "seconds": {
                "committed": self._since_start(self._arrival.committed_at),
                "loaded": self._since_start(self._arrival.loaded_at),
                "settled": self._since_start(time.monotonic()),
            },
        }

    def _follow(self, deadline: float, *, stopping: bool = False) -> None:
        while not self._settled(stopping=stopping):
            now = time.monotonic()
            if now >= deadline:
                self.stopped = self.stopped or f"still loading after {self._load_time:g} s"
                return
            if self._goes_in_circles() and not stopping:
                self.stopped = f"sent itself elsewhere {self._arrival.navigations} times"
                return
            left = deadline - now
            self._take(self._tab.connection.next_event(left if stopping else min(left, self._pause(now))))
            self._take_answer(stopping=stopping)
            self._see_that_it_is_whole()
            self._look_at_the_load()
            if not (stopping or self._arrival.loaded_at) and self._idleness.is_found():
                waiting()

    def _look_at_the_load(self) -> None:
        """Have the page looked at as it is at its load: if it looks the same once it is quiet, it has settled."""
        if self._arrival.loaded_at and self._looked_at != self._arrival.loader:
            self._looked_at = self._arrival.loader
            expression = {"expression": look_script(), "returnByValue": True}
            self._look = self._tab.connection.begin("Runtime.evaluate", expression)

    def _seen_at_the_load(self) -> int | None:
        """Return the likeness of that look, None where nothing came of it."""
        try:
            answer = self._tab.connection.reply(self._look)
            return None if answer is None else likeness(script_value(answer))
        except CommandFailed:
            return None

    def _take(self, event: Event | None) -> None:
        if event is None:
            return
        if event.method == "Fetch.requestPaused":
            self._let_pass(event.params)
        else:
            self._arrival.take(event)

    def _let_pass(self, paused: Params) -> None:
        """Let an answer through, one that asks for a login without its question."""
        of_request = {"requestId": paused["requestId"]}
        if paused.get("responseStatusCode") != UNAUTHORIZED:
            self._tab.connection.send("Fetch.continueRequest", of_request)
            return
        answer = self._tab.call("Fetch.getResponseBody", of_request)
        body = answer["body"] if answer["base64Encoded"] else base64.b64encode(answer["body"].encode()).decode()
        headers = [each for each in paused["responseHeaders"] if each["name"].lower() != "www-authenticate"]
        told = {"responseCode": UNAUTHORIZED, "responseHeaders": headers, "body": body}
        self._tab.connection.send("Fetch.fulfillRequest", of_request | told)

    def _goes_in_circles(self) -> bool:
        """Too often elsewhere. Stopped when a document is there to be kept, unless none ever gets that far."""
        times = self._arrival.navigations
        return times > self._navigations_max * (1 if self._arrival.loaded_at else 3)

    def _see_that_it_is_whole(self) -> None:
        if self._arrival.torn and not self.problem:
            self.code = self._arrival.torn
            why = problem_of(self.code, self._arrival.asked_for or self._url)
            partly = f"only a part of the page came: {why.sentence}"
            self.problem = Problem(partly, transient=why.transient, reason=why.reason)

    def _take_answer(self, *, stopping: bool) -> None:
        if self._answered:
            return
        try:
            answer = self._tab.connection.reply(self._asked)
        except CommandFailed as error:
            self._answered, self.problem = True, Problem(str(error), transient=False)
            return
        if answer is None:
            return
        self._answered = True
        if answer.get("isDownload"):
            self._arrival.download = self._arrival.download or "download"
        elif answer.get("errorText") and not stopping:
            self.code = answer["errorText"]
            self.problem = problem_of(
                self.code, self._arrival.asked_for or self._url, self._arrival.latest_response.get("status", 0)
            )

    def _settled(self, *, stopping: bool) -> bool:
        arrival, now = self._arrival, time.monotonic()
        if self.problem or arrival.download:
            return True
        if stopping:
            return self._answered and (arrival.stopped_loading or bool(arrival.loaded_at))
        if arrival.loaded_at and not is_page(str(arrival.response.get("mimeType", ""))):
            return True  # a viewer of the browser's own, whose requests are not the site's
        if not arrival.loaded_at or arrival.leaving:
            return False
        return arrival.quiet_since(now) >= self._quiet or now - arrival.loaded_at >= self._quiet_max

    def _pause(self, now: float) -> float:
        """Return for how long nothing can change unless an event comes."""
        arrival = self._arrival
        if not arrival.loaded_at:
            return self._idleness.pause(now)
        at = arrival.loaded_at + self._quiet_max
        if arrival.quiet_since(now) or not self._quiet:
            at = min(at, arrival.busy_at + self._quiet)
        return max(0.001, max(at, arrival.expecting_until) - now)

    def _since_start(self, moment: float) -> float | None:
        return round(moment - self._started, 3) if moment else None


def tell_facts(record: dict[str, object]) -> None:
    """Tell what the page is: an address without status and type says that nothing will come from there.

    HTML that is not shown, being too large or offered for download, is told as the bytes of a file.
    """
    is_hidden = record["static"] and record["mime"] in HTML
    mime = UNKNOWN_TYPE if is_hidden else record["mime"]
    may_come = record["transient"] and not record["status"]
    final_url = "" if may_come else record["final_url"]
    facts = {"final_url": final_url, "http_status": record["status"] or 0, "mime_type": mime}
    patch_snapshot(**facts, **({"retry_after": record["retry_after"]} if record["retry_after"] else {}))


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    if not hook.url.lower().startswith(("http://", "https://")):
        misconfigured(f"Only http and https addresses are opened in the browser, not {hook.url!r}.")
    give_up_after(settings.timeout("CHROME") * MARGIN)
    take_back((FILE, "page_loaded.txt", "final_url.txt"))
    try:
        tab = Tab.attach(".")
        navigation = Navigation(tab, hook.url, settings)
        navigation.go()
        record = navigation.record(hook)
        tab.close()
    except TargetGone as error:
        page_lost(f"The page was lost while it was opened: {error}")
    except (CDPError, TimeIsOver) as error:
        try_again(f"The navigation did not come to an end: {error}")
    write_atomically(FILE, json.dumps(record, indent=2) + "\n")
    tell_facts(record)
    if navigation.problem and navigation.problem.transient:
        try_again(navigation.problem.sentence, record, reason=navigation.problem.reason)
    if navigation.problem:
        failed(navigation.problem.sentence, record, reason=navigation.problem.reason)
    tell(final_url=record["final_url"], page_loaded=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    said = [str(record[key]) for key in ("status", "final_url") if record[key]]
    succeeded(" ".join([*said, *([f"(stopped: {navigation.stopped})"] if navigation.stopped else [])]), record)


if __name__ == "__main__":
    main()
