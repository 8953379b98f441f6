#!/usr/bin/env python3
"""Hold the Snapshot's tab: open it, answer its dialogs, close its popups, close it on TERM.

What a tab owes to the client that set it (user agent, headers, answers to dialogs) ends with that client, so one
process keeps them for as long as the Snapshot needs the page; other hooks connect for a moment, by `target.json`.
One that finds the page busy sends USR1: only a client that was there before a script began can still stop it. A page
that answers nothing even then is dead: its tab is closed here, which all who wait for it are told at once. So is a tab
in which a log-in page or a check of visitors has replaced the page while hooks were at work on it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import time

from launch import NARROWEST, window
from memory import was_ended_just_now
from shared_files import OF_TAB, remove_files, write_shared_files

from archivebox.plugins.base import (
    Hook,
    Settings,
    StopRequest,
    failed,
    log,
    misconfigured,
    ready,
    succeeded,
    try_again,
    write_atomically,
)
from archivebox.plugins.base.cdp import CallTimeout, CDPConnection, CDPError, CDPEvent, CommandFailed, TargetGone
from archivebox.plugins.base.engine import end_with_engine
from archivebox.plugins.base.programs import start_ticks
from archivebox.plugins.base.tab import PROBE, Navigation, read_json, script_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from archivebox.plugins.base.cdp import Params

TARGET, WANTED = "target.json", "wanted"
SECRET_HEADERS = frozenset({"cookie", "authorization", "proxy-authorization"})
POLL_AGAIN = 0.005  # seconds between two looks for the crawl's browser, which is 0.2 s away at most
ANSWER_TIME = 5.0  # seconds for a page whose script was stopped to answer; then its tab is dead
CRASH_TIME = 0.3  # seconds for the browser to say how a tab crashed, after it said that
CLOSE_TIME = 2.0  # seconds for the browser to say that it closes the tab; that itself takes 30 ms more


def browser_folder() -> str:
    """Return the folder in which the hook of the crawl's browser works."""
    folder = os.environ.get("CRAWL_OUTPUT_DIR") or os.environ.get("CRAWL_DIR")
    if not folder:
        misconfigured("CRAWL_OUTPUT_DIR is not set, so the crawl's browser cannot be found. The engine sets it.")
    return os.path.join(folder, "chrome")


def want_browser(folder: str) -> None:
    """Tell the hook of the crawl's browser that a tab is wanted: it may wait for that."""
    if os.path.isdir(folder) and not os.path.exists(os.path.join(folder, "session.json")):
        write_atomically(os.path.join(folder, WANTED), "")


def wait_for_browser(deadline: float, stop: StopRequest) -> tuple[CDPConnection, Params]:
    """Connect to the crawl's browser and say where it is; it may still be starting, or again after a crash."""
    folder = browser_folder()
    want_browser(folder)
    while not stop and time.monotonic() < deadline:
        session = read_json(os.path.join(folder, "session.json"))
        if session:
            try:
                return CDPConnection.open(session["socket"]), session
            except TargetGone:
                session = None  # the file of one that was killed
        time.sleep(POLL_AGAIN)
    return try_again("The crawl's browser is not there: see the output of its hook on_Crawl__01_chrome.")


class BusyPageSignal:
    """USR1 as something to wait for: another hook finds that the page does not answer."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        signal.signal(signal.SIGUSR1, lambda *_: os.write(self._writer, b"."))

    def fileno(self) -> int:
        return self._reader

    def clear(self) -> None:
        """Clear the requests that have come: together they are one."""
        os.read(self._reader, 4096)


class OwnTab:
    """The tab as it is looked at by the connection that holds it."""

    def __init__(self, connection: CDPConnection, session: str) -> None:
        self._connection, self._session = connection, session
        self.navigation = Navigation.read(".")

    def call(self, method: str, params: Params | None = None) -> Params:
        return self._connection.call(method, params, session=self._session, timeout=PROBE)

    def evaluate(self, expression: str) -> Any:
        return script_value(self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True}))


class TabHolder:
    """One tab, and what is done in it without being asked."""

    def __init__(self, connection: CDPConnection, settings: Settings, agent: str, hook: Hook) -> None:
        self.connection, self._url = connection, hook.url
        connection.send("Target.setDiscoverTargets", {"discover": True})
        # The browser's hook watches us by this.
        mark = f"about:blank#archivebox-{os.getpid()}-{start_ticks(os.getpid())}-{hook.snapshot_id}"
        self.target = connection.call("Target.createTarget", {"url": mark, "newWindow": True})["targetId"]
        self.session = connection.call("Target.attachToTarget", {"targetId": self.target, "flatten": True})["sessionId"]
        connection.call_all(page_set_up(settings, agent), self.session)
        self._crash = ""  # the browser's word for how the tab ended, if it crashed
        self._asked, self._dead_at = 0, 0.0  # a look at a page that may not answer any more
        self._hidden_headers = sorted(hidden_headers(settings))

    def describe(self, session: Params) -> Params:
        browser, _, secret = session["ws_url"].rpartition("/")
        return {
            "target_id": self.target,
            "socket": session["socket"],
            "ws_url": f"{browser.removesuffix('browser')}page/{self.target}/{secret}",
            "browser_ws_url": session["ws_url"],
            "holder_pid": os.getpid(),
            "holder_start_ticks": start_ticks(os.getpid()),
            "hidden_headers": self._hidden_headers,
            "browser": session["version"],
        }

    def handle_events(self) -> None:
        """Take all that has come; raises TargetGone when the tab is gone."""
        while True:
            event = self.connection.next_event(1.0)
            if event is not None:
                self._handle_event(event)
            if not self.connection.pending:
                return

    def _handle_event(self, event: CDPEvent) -> None:
        if event.method == "Page.javascriptDialogOpening":
            accept = event.params["type"] == "beforeunload"  # refuse all others: a page may ask for ever
            self.connection.send("Page.handleJavaScriptDialog", {"accept": accept}, self.session)
        elif event.method == "Page.loadEventFired":
            self._check_document()
        elif event.method == "Target.targetCreated":
            info = event.params["targetInfo"]
            if info.get("openerId") == self.target and info["type"] == "page":
                log(f"closing a popup: {info['url']}")
                self.connection.send("Target.closeTarget", {"targetId": info["targetId"]})
        elif event.method == "Target.targetDestroyed" and event.params["targetId"] == self.target:
            raise TargetGone("somebody closed the tab")
        elif event.method == "Target.targetCrashed" and event.params["targetId"] == self.target:
            self._crash = event.params["status"]
            raise TargetGone("the tab crashed")

    def _check_document(self) -> None:
        """Raise TargetGone where the page that was loaded and judged has been replaced by what is none."""
        tab = OwnTab(self.connection, self.session)
        if tab.navigation is None or not tab.navigation.record.get("judged") or tab.navigation.refused:
            return
        from late import LateDocument, expect_refusal  # not before: few pages want it, and all wait for their tab

        try:
            late = LateDocument(tab, self._url, has_moved=False)
            late.look(0.0)
        except (CommandFailed, CallTimeout) as error:
            log(f"what has replaced the page cannot be looked at: {error}")
            return
        if late.is_another and late.refusal:
            expect_refusal(late.refusal)
            raise TargetGone(f"the page was replaced: {late.refusal.sentence}")

    def was_killed(self) -> bool:
        """Say whether the page's process was killed, by whomever."""
        try:
            while not self._crash and (event := self.connection.next_event(CRASH_TIME)) is not None:
                self._handle_event(event)
        except CDPError as error:
            log(f"the tab ended: {error}")
        return self._crash == "killed"

    def free(self) -> None:
        """Stop the page's script, and what the page still loads; a page that is idle does not notice."""
        log("another hook finds the page busy: stopping its script")
        self.connection.send("Runtime.terminateExecution", session=self.session)
        self.connection.send("Page.stopLoading", session=self.session)
        if not self._asked:
            self._asked = self.connection.begin("Runtime.evaluate", {"expression": "1"}, self.session)
            self._dead_at = time.monotonic() + ANSWER_TIME

    def check_liveness(self) -> float | None:
        """Return for how many seconds it may still be silent, if it was asked. Raises TargetGone when that is over."""
        try:
            answered = self._asked and self.connection.reply(self._asked) is not None
        except CommandFailed:  # an answer as well: it has just gone elsewhere
            answered = True
        if answered:
            self._asked = 0
        left = self._dead_at - time.monotonic()
        if self._asked and left <= 0:
            raise TargetGone(f"the page answered nothing for {ANSWER_TIME:g} s, not even after its script was stopped")
        return left if self._asked else None

    def close(self) -> None:
        """Close the tab, as far as there is a browser to ask."""
        try:
            self.connection.call("Target.closeTarget", {"targetId": self.target}, timeout=CLOSE_TIME)
        except CDPError as error:
            log(f"the tab could not be closed: {error}")
        self.connection.close()


def page_set_up(settings: Settings, agent: str) -> list[tuple[str, Params]]:
    """Return the calls that make a fresh tab ready, in order; `agent`: what the browser says it is."""
    agent = settings.str("USER_AGENT") or agent.replace("HeadlessChrome", "Chrome")
    calls: list[tuple[str, Params]] = [
        ("Page.enable", {}),
        ("Network.setUserAgentOverride", {"userAgent": agent}),
        ("Emulation.setFocusEmulationEnabled", {"enabled": True}),  # as if in front, however many tabs are open
    ]
    width, height = window(settings)
    if width < NARROWEST:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        calls.append(("Emulation.setDeviceMetricsOverride", size))
    if headers := settings.dict("CHROME_EXTRA_HEADERS"):
        calls += [("Network.enable", {}), ("Network.setExtraHTTPHeaders", {"headers": headers})]
    if path := settings.path("COOKIES_FILE"):
        calls.append(("Network.setCookies", {"cookies": read_cookies(path)}))
    return calls


def hidden_headers(settings: Settings) -> frozenset[str]:
    """Return the request headers, in lower case, whose values are not kept in any file."""
    if settings.bool("CHROME_SAVE_SECRETS"):
        return frozenset()
    return SECRET_HEADERS | {name.lower() for name in settings.dict("CHROME_EXTRA_HEADERS")}


def read_cookies(path: str) -> list[dict[str, object]]:
    """Read a cookies.txt (Netscape): domain, subdomains, path, secure, expiry, name, value, parted by tabs."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError as error:
        misconfigured(f"The cookies file cannot be read: {error}. Set COOKIES_FILE to a file in Netscape format.")
    cookies: list[dict[str, object]] = []
    for line in lines:
        http_only = line.startswith("#HttpOnly_")
        parts = line.removeprefix("#HttpOnly_").split("\t")
        if len(parts) != 7 or parts[0].startswith("#"):
            continue
        domain, _, where, secure, expiry, name, value = parts
        cookie: dict[str, object] = {"name": name, "value": value, "domain": domain, "path": where}
        cookie |= {"secure": secure == "TRUE", "httpOnly": http_only}
        if expiry.isdigit() and int(expiry):
            cookie["expires"] = int(expiry)
        cookies.append(cookie)
    return cookies


def hold(holder: TabHolder, stop: StopRequest, busy_page: BusyPageSignal) -> None:
    """Serve the tab until told to stop. Raises TargetGone when the tab or the browser is gone."""
    with selectors.DefaultSelector() as selector:
        selector.register(stop, selectors.EVENT_READ)
        selector.register(busy_page, selectors.EVENT_READ)
        selector.register(holder.connection, selectors.EVENT_READ)
        while not stop:
            silent_for = holder.check_liveness()
            # An event that has been read already would not wake the selector.
            ready_ones = [key.fileobj for key, _ in selector.select(0 if holder.connection.pending else silent_for)]
            if busy_page in ready_ones:
                busy_page.clear()
                holder.free()
            if holder.connection.pending or holder.connection in ready_ones:
                holder.handle_events()


def main() -> None:
    stop, busy_page = StopRequest(), BusyPageSignal()
    end_with_engine()
    hook, settings = Hook.from_argv(), Settings()
    remove_files((TARGET, *OF_TAB))
    connection, session = wait_for_browser(time.monotonic() + settings.timeout("CHROME"), stop)
    try:
        holder = TabHolder(connection, settings, session["user_agent"], hook)
    except CDPError as error:
        try_again(f"No tab could be opened: {error}")
    try:
        write_shared_files(url=hook.url, cdp_url=session["ws_url"], pid=session["pid"], target_id=holder.target)
        write_atomically(TARGET, json.dumps(holder.describe(session), indent=2) + "\n", secret=True)
        ready()
        hold(holder, stop, busy_page)
    except CDPError as error:
        if holder.was_killed() and was_ended_just_now(browser_folder()):
            failed("the page was ended: it took more memory than CHROME_MEMORY_MAX allows")
        try_again(f"The tab is lost: {error}")
    finally:
        remove_files((TARGET, *OF_TAB))
        holder.close()
    succeeded("the tab was open until the page was done")


if __name__ == "__main__":
    main()
