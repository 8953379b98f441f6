#!/usr/bin/env python3
"""Take the Snapshot's tab to the URL and wait until the page has settled; `navigation.json` says what came of it.

Waits for the load event of whatever document the main frame has (a script or a refresh may replace the first one), then
for a moment without requests. A page that never finishes is stopped and captured as it is, also one that breaks off a
second time. One that checks its visitor first is given the time to do so; what comes instead of the page that was asked
for is said to be that.
"""

from __future__ import annotations

import base64
import json
import os
import time

from arrival import REQUEST_TIME, Arrival, Idleness, layout_script, likeness
from late import EXPECTED, HTML, LOOK_AGAIN, expected_within, tell_facts
from neterrors import Problem, problem_of
from refusals import (
    PUTS_OFF,
    PageRefusal,
    busy_server,
    check_of,
    declared_type,
    find_visitor_check,
    is_login_wall,
    login_page,
    may_go_on,
    refresh_of,
    refusal_script,
    retry_after,
)
from shared_files import remove_files, write_shared_files

from archivebox.plugins.base import (
    Hook,
    Settings,
    extended,
    failed,
    misconfigured,
    page_lost,
    set_deadline,
    sibling,
    succeeded,
    try_again,
    waiting,
    write_atomically,
)
from archivebox.plugins.base.answer_headers import is_page
from archivebox.plugins.base.cdp import CallTimeout, CDPError, CDPEvent, CommandFailed, TargetGone
from archivebox.plugins.base.hook import TimeIsOver, remove
from archivebox.plugins.base.responses import INDEX
from archivebox.plugins.base.tab import MARGIN, Tab, read_json, script_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

FILE = "navigation.json"
STOP_TIME = 1.0  # seconds for Page.stopLoading to be told of
QUIET_MAX = 3.0  # seconds after the load event in which the page has to become quiet
NAVIGATIONS_MAX = 10  # by the page itself, after which it is stopped: a refresh loop
FILES_TIME = 10.0  # seconds for files that were on their way at a stop, which the recorder then fetches
FILES_PAUSE = 1.5  # seconds without one of them, after which no more is waited for
CALM_TIME = 0.2  # seconds without a new document after which a stop counts
RELOADS_MOST = 5  # by one page that is waited for; one that goes on and on is what it is
STOPS = 10
UNAUTHORIZED = 401
ABORTED = "net::ERR_ABORTED"
STATUS_TIME = 1.0  # seconds; 0.03 are usual
# An HTML document of which no more than its head came has no body: what is stopped is not completed. Of one of which
# nothing came the browser makes three elements.
HERE = """({
  url: location.href,
  mime: document.contentType,
  empty: document instanceof HTMLDocument
    ? !document.body || document.documentElement.outerHTML === "<html><head></head><body></body></html>"
    : !document.documentElement,
})"""


class PageNavigation:
    """One way to one URL."""

    def __init__(self, tab: Tab, url: str, settings: Settings, *, was_torn: bool) -> None:
        self._tab, self._url, self._was_torn = tab, url, was_torn
        self._load_time = min(settings.float("CHROME_PAGELOAD_TIMEOUT"), settings.timeout("CHROME") * 0.6)
        self._quiet = settings.float("CHROME_QUIET_TIME")
        self._quiet_max = max(self._quiet, QUIET_MAX)
        self._check_time = settings.float("CHROME_CHECK_TIME")
        self._arrival = Arrival(tab.target_id)
        self._started = time.monotonic()
        self._asked, self._answered = 0, False
        self._looked_at, self._look = "", 0
        self._idleness = Idleness(tab.connection)
        self._has_waited = False
        self.problem: Problem | None = None
        self.refusal: PageRefusal | None = None
        self.code = ""  # the browser's own word for it
        self.stopped = ""
        self._is_held = False

    def go(self) -> None:
        """Navigate and wait; afterwards the page is loaded, or stopped, or `problem` says why there is none."""
        self._listen()
        self._ask()
        if self._wants_login:
            self._ask_without_login()
        if self.stopped:
            self._stop()
            self._release_document()
            if not self._arrival.committed_at and self._arrival.latest_response:
                raise CallTimeout("the server answered, but the browser showed nothing of it")
            if not self._arrival.committed_at and not self.problem:
                silent = f"the server did not answer within {self._load_time:g} s"
                self.problem = Problem(silent, transient=True, reason="no_answer")
        self._classify_page()

    def _classify_page(self) -> None:
        """Find whether this is the page; one that may replace itself soon, as checks of visitors do, is waited for."""
        deadline, before = time.monotonic() + self._check_time, self._arrival.navigations
        seen = self._read_refusal_signs()
        expected = min(time.monotonic() + expected_within(), deadline)
        if not self.stopped and self._is_awaited(seen, expected):
            waiting()
            while self._is_awaited(seen, expected) and time.monotonic() < deadline and not self.stopped:
                self._stay(min(LOOK_AGAIN, deadline - time.monotonic()))
                if self._arrival.navigations > before + RELOADS_MOST:
                    break
                seen = self._read_refusal_signs()
            if self.stopped:
                self._stop()
                self._release_document()
        if not self.problem:
            self.refusal = self._refusal_in(seen, went_on=self._arrival.navigations > before)
        elif self._status in PUTS_OFF:
            self.problem.reason = busy_server(self._status).reason

    def _is_awaited(self, seen: Params, expected_until: float) -> bool:
        """Whether the document may replace itself soon, by what it shows or because it did so before."""
        if seen and may_go_on(seen):
            return True
        return time.monotonic() < expected_until and not (self.problem or self._refusal_in(seen, went_on=False))

    def _refusal_in(self, seen: Params, *, went_on: bool) -> PageRefusal | None:
        if seen and (check := find_visitor_check(seen, went_on=went_on)):
            return check
        if self._status in PUTS_OFF:
            return busy_server(self._status)
        if seen and is_login_wall(self._url, seen["url"], password=seen["password"], user=seen["user"]):
            return login_page(seen["url"])
        return None

    @property
    def _response(self) -> Params:
        """The answer that is shown; where none is, the latest."""
        return {} if self._arrival.unreachable else self._arrival.response or self._arrival.latest_response

    @property
    def _status(self) -> int:
        return int(self._response.get("status") or 0)

    def _read_refusal_signs(self) -> Params:
        """Return what speaks for a refusal; {} of what is no document that says something of itself."""
        response = self._arrival.response
        if self.problem or self._arrival.download or response.get("mimeType") not in HTML:
            return {}
        try:
            self._tab.make_answer()
            seen: Params = self._tab.evaluate(refusal_script())
        except CommandFailed:  # it goes elsewhere at this moment, or shows nothing of the kind
            return {}
        refresh = refresh_of(response) if seen["refresh"] is None else seen["refresh"]
        return seen | {"status": self._status, "said": check_of(response), "refresh": refresh}

    def _stay(self, seconds: float) -> None:
        """Take what happens for a moment; another document that begins to load is followed until it has settled."""
        end, before = time.monotonic() + seconds, self._arrival.navigations
        while (left := end - time.monotonic()) > 0 and self._arrival.navigations == before:
            self._handle_event(self._tab.connection.next_event(left))
        if self._arrival.navigations != before or self._arrival.is_leaving:
            self._follow(time.monotonic() + REQUEST_TIME + self._check_time)

    def _ask(self) -> None:
        self._asked, self._answered = self._tab.connection.begin("Page.navigate", {"url": self._url}), False
        now = time.monotonic()
        self._follow(now + self._load_time, at_work=now + extended(self._load_time))

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
                self._handle_event(self._tab.connection.next_event(left))
            if self._arrival.navigations == before and not self._arrival.is_leaving:
                return

    def _release_document(self) -> None:
        if self._is_held:
            self._tab.call("Fetch.disable")
            self._is_held = False

    def record(self, hook: Hook) -> Params:
        """Return what `navigation.json` says; asks the page, which may have to be freed from a busy script first."""
        static = bool(self._arrival.download)
        record: Params = {"url": self._url, "final_url": self._url}
        response = self._response
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
            "refused": self.refusal.reason if self.refusal else "",
            "status": response.get("status"),
            "status_text": response.get("statusText"),
            "mime": declared_type(response) or mime,
            "retry_after": retry_after(response),
            "static": static,
            "download": self._arrival.download,
            "stopped": self.stopped,
            "torn": self._arrival.torn,
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

    def _follow(self, deadline: float, *, at_work: float = 0.0, stopping: bool = False) -> None:
        """Take what happens until the page has settled, or the deadline.

        `at_work`: the deadline while nothing is there and the tab never waited for a server: it lacks the processor.
        """
        while not self._settled(stopping=stopping):
            now = time.monotonic()
            lacks_processor = not (self._has_waited or self._arrival.committed_at)
            end = max(deadline, at_work) if lacks_processor else deadline
            if now >= end:
                self.stopped = self.stopped or f"still loading after {self._load_time:g} s"
                return
            if self._goes_in_circles() and not stopping:
                self._hold_document()
            left = end - now
            self._handle_event(self._tab.connection.next_event(left if stopping else min(left, self._pause(now))))
            self._check_reply(stopping=stopping)
            self._check_completeness()
            self._check_reachability()
            self._request_look()
            if not (stopping or self._arrival.loaded_at) and self._idleness.is_found():
                self._has_waited = True
                waiting()

    def _request_look(self) -> None:
        """Have the page looked at as it is at its load: if it looks the same once it is quiet, it has settled."""
        if self._arrival.loaded_at and self._looked_at != self._arrival.loader:
            self._looked_at = self._arrival.loader
            expression = {"expression": layout_script(), "returnByValue": True}
            self._look = self._tab.connection.begin("Runtime.evaluate", expression)

    def _seen_at_the_load(self) -> int | None:
        """Return the likeness of that look, None where nothing came of it."""
        try:
            answer = self._tab.connection.reply(self._look)
            return None if answer is None else likeness(script_value(answer))
        except CommandFailed:
            return None

    def _handle_event(self, event: CDPEvent | None) -> None:
        if event is None:
            return
        if event.method == "Fetch.requestPaused":
            self._answer_request(event.params)
        else:
            self._arrival.handle_event(event)

    def _answer_request(self, paused: Params) -> None:
        """Let an answer through, one that asks for a login without its question; no document where one is held."""
        of_request = {"requestId": paused["requestId"]}
        if self._is_held and paused["frameId"] == self._tab.target_id:
            self._tab.connection.send("Fetch.failRequest", of_request | {"errorReason": "Aborted"})
            return
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
        return not self.stopped and times > NAVIGATIONS_MAX * (1 if self._arrival.loaded_at else 3)

    def _hold_document(self) -> None:
        """Refuse the page every further document; the one that is there, or is on its way, is followed to its end.

        Stopped at once, it may be caught while the next one has replaced it and has nothing but a head.
        """
        self.stopped = f"sent itself elsewhere {self._arrival.navigations} times"
        patterns = [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}]
        self._tab.call("Fetch.enable", {"patterns": patterns})
        self._is_held = True

    def _check_completeness(self) -> None:
        if self._arrival.torn and not self.problem:
            self.code = self._arrival.torn
            why = problem_of(self.code, self._arrival.asked_for or self._url)
            partly = f"only a part of the page came: {why.sentence}"
            if self._was_torn:  # it comes no better
                self.stopped = self.stopped or partly
            else:
                self.problem = Problem(partly, transient=why.transient, reason=why.reason)

    def _check_reachability(self) -> None:
        """A page that came may go where nobody is; of the first document the browser tells by its answer."""
        if self._arrival.unreachable and self._arrival.navigations > 1 and not self.problem:
            self.code = self._arrival.failure
            why = problem_of(self.code, self._arrival.unreachable)
            led = f"the page went on to {self._arrival.unreachable}: {why.sentence}"
            self.problem = Problem(led, transient=why.transient, reason=why.reason)

    def _check_reply(self, *, stopping: bool) -> None:
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
            status = self._arrival.latest_response.get("status", 0) or self._status_of_no_answer()
            self.problem = problem_of(self.code, self._arrival.asked_for or self._url, status)

    def _status_of_no_answer(self) -> int:
        """Return the status of an answer that the browser gave nobody, which it tells a moment later; 0: none came."""
        end = time.monotonic() + STATUS_TIME
        while self.code == ABORTED and not self._arrival.latest_status and (left := end - time.monotonic()) > 0:
            self._handle_event(self._tab.connection.next_event(left))
        return self._arrival.latest_status

    def _settled(self, *, stopping: bool) -> bool:
        arrival, now = self._arrival, time.monotonic()
        if self.problem or arrival.download:
            return True
        if stopping:
            return self._answered and (arrival.stopped_loading or bool(arrival.loaded_at))
        if arrival.loaded_at and not is_page(str(arrival.response.get("mimeType", ""))):
            return True  # a viewer of the browser's own, whose requests are not the site's
        if not arrival.loaded_at or arrival.is_leaving:
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


def wait_for_recorder(seconds: float) -> None:
    """Leave the page as it is while the recorder fetches what the stop has cut off: later the tab may be closed."""
    index = os.path.join(sibling("responses"), INDEX)
    end, size, grew_at = time.monotonic() + seconds, -1, time.monotonic()
    while (now := time.monotonic()) < min(end, grew_at + FILES_PAUSE) and os.path.exists(index):
        before, size = size, os.path.getsize(index)
        grew_at = now if size != before else grew_at
        time.sleep(CALM_TIME)


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    if not hook.url.lower().startswith(("http://", "https://")):
        misconfigured(f"Only http and https addresses are opened in the browser, not {hook.url!r}.")
    set_deadline(settings.timeout("CHROME") * MARGIN)
    was_torn = bool((read_json(FILE) or {}).get("torn"))
    remove_files((FILE, "page_loaded.txt", "final_url.txt"))
    try:
        tab = Tab.attach(".")
        navigation = PageNavigation(tab, hook.url, settings, was_torn=was_torn)
        navigation.go()
        if navigation.stopped:
            wait_for_recorder(min(FILES_TIME, settings.timeout("CHROME") * 0.2))
        record = navigation.record(hook)
        tab.close()
    except TargetGone as error:
        page_lost(f"The page was lost while it was opened: {error}")
    except (CDPError, TimeIsOver) as error:
        try_again(f"The navigation did not finish: {error}")
    write_atomically(FILE, json.dumps(record, indent=2) + "\n")
    tell_facts(record)
    if navigation.problem and navigation.problem.transient:
        reason, after = navigation.problem.reason, record["retry_after"]
        try_again(navigation.problem.sentence, record, reason=reason, after=after)
    if navigation.problem:
        failed(navigation.problem.sentence, record, reason=navigation.problem.reason)
    if not navigation.refusal:
        remove(EXPECTED)
    write_shared_files(final_url=record["final_url"], page_loaded=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    if navigation.refusal and navigation.refusal.may_pass:
        try_again(navigation.refusal.sentence, record, reason=navigation.refusal.reason, after=record["retry_after"])
    if navigation.refusal:
        failed(navigation.refusal.sentence, record, reason=navigation.refusal.reason)
    said = [str(record[key]) for key in ("status", "final_url") if record[key]]
    sentence = " ".join([*said, *([f"(stopped: {navigation.stopped})"] if navigation.stopped else [])])
    succeeded(sentence, record, **({"reason": "files_missing"} if record["torn"] else {}))


if __name__ == "__main__":
    main()
