#!/usr/bin/env python3
"""Launch Chromium once for a crawl on this machine, keep watch over it and its tabs, and end it on TERM.

Others find it through `session.json` in this hook's folder and speak to it through the relay here, with which it ends:
Chromium leaves when its pipe is closed. It may be launched before its crawl is there. For a crawl that begins with a
file it is launched when a tab is wanted. A tab belongs to the process named in its first address
(`about:blank#archivebox-<pid>-<start ticks>-<Snapshot>`): when that process is gone, its tab is closed here.
"""

from __future__ import annotations

import json
import os
import re
import select
import selectors
import time

from launch import Browser, is_fresh
from memory import LOOK_AGAIN, MB, end_large_renderers
from relay import Relay
from relay.screencast import Screencast
from shared_files import OF_BROWSER, remove_files, write_shared_files

from archivebox.plugins.base import Hook, Settings, StopRequest, log, ready, try_again, write_atomically
from archivebox.plugins.base.answer_headers import is_file_url
from archivebox.plugins.base.cdp import CDPError, CDPEvent
from archivebox.plugins.base.engine import CrawlToCome, end_with_engine
from archivebox.plugins.base.programs import open_process, start_ticks

SESSION, WANTED = "session.json", "wanted"
WANTED_LOOK = 0.02  # seconds between two looks for who wants a tab, in a crawl that began with a file
HOLDER = re.compile(r"^about:blank#archivebox-(\d+)-(\d+)(?:-([\w-]*))?$")


class TabWatch:
    """Tabs and the processes that hold them, by a pidfd each; a holder's end closes its tab."""

    def __init__(self, relay: Relay, screencast: Screencast) -> None:
        self._relay, self._screencast = relay, screencast
        self._holders: dict[str, int] = {}
        self._opened_by: dict[str, str] = {}
        relay.told = self.handle_event
        relay.send("Target.setDiscoverTargets", {"discover": True})

    def handle_event(self, event: CDPEvent) -> None:
        """Know the tabs that there are."""
        if event.method in ("Target.targetCreated", "Target.targetInfoChanged"):
            self._track(event.params["targetInfo"])
        elif event.method == "Target.targetDestroyed":
            self._forget(event.params["targetId"])

    @property
    def has_tabs(self) -> bool:
        return bool(self._holders)

    def holder_gone(self, target: str) -> None:
        log(f"closing tab {target}: its holder is gone")
        self._forget(target)
        for each in (target, *(popup for popup, opener in self._opened_by.items() if opener == target)):
            self._relay.send("Target.closeTarget", {"targetId": each})

    def _track(self, info: dict[str, str]) -> None:
        if "openerId" in info:
            self._opened_by[info["targetId"]] = info["openerId"]
        held = HOLDER.match(info["url"])
        if not held or info["targetId"] in self._holders:
            return
        descriptor = open_process(int(held[1]), int(held[2]))
        if descriptor is None:
            self.holder_gone(info["targetId"])
            return
        self._holders[info["targetId"]] = descriptor
        if held[3]:
            self._screencast.opened(info["targetId"], held[3])
        self._relay.selector.register(descriptor, selectors.EVENT_READ, lambda _: self.holder_gone(info["targetId"]))

    def _forget(self, target: str) -> None:
        self._screencast.closed(target)
        descriptor = self._holders.pop(target, None)
        if descriptor is not None:
            self._relay.selector.unregister(descriptor)
            os.close(descriptor)


def describe(browser: Browser, version: dict[str, str]) -> dict[str, object]:
    """Return what others need to know of the browser."""
    return {
        "pid": browser.pid,
        "start_ticks": start_ticks(browser.pid),
        "version": version["product"],
        "user_agent": version["userAgent"],
        "folder": browser.folder,
        "sandbox": "--no-sandbox" not in browser.command,
    }


def endpoints(relay: Relay, screencast: Screencast) -> dict[str, object]:
    """Return where others speak to the browser."""
    return {"socket": relay.socket, "ws_url": relay.url, "screencast": screencast.socket}


def serve(browser: Browser, stop: StopRequest, memory_max: int) -> int:
    """Relay and watch until told to stop (0) or until the browser has ended (1); `memory_max`: bytes of a page."""
    version = browser.version()
    with selectors.DefaultSelector() as selector:
        relay = Relay(browser.pipe, browser.folder, selector)
        screencast = Screencast(relay, browser.folder)
        watch = TabWatch(relay, screencast)
        selector.register(stop, selectors.EVENT_READ, lambda _: None)
        session = describe(browser, version) | endpoints(relay, screencast)
        write_shared_files(cdp_url=relay.url, pid=browser.pid)
        write_atomically(SESSION, json.dumps(session, indent=2) + "\n", secret=True)
        ready()
        look_at = 0.0
        while not stop and not relay.ended:
            for key, mask in selector.select(LOOK_AGAIN if watch.has_tabs else None):
                key.data(mask)
            screencast.capture_frames()
            if watch.has_tabs and time.monotonic() >= look_at:
                look_at = time.monotonic() + LOOK_AGAIN
                relay.ask("SystemInfo.getProcessInfo", lambda answer: end_large_renderers(answer, memory_max))
    if relay.ended:
        log("Chromium has ended without being told to")
    return int(relay.ended)


def wait_until_wanted(stop: StopRequest) -> None:
    """Wait until a tab is wanted, or until told to stop: pages that are files need none."""
    while not stop and not os.path.exists(WANTED):
        select.select([stop], [], [], WANTED_LOOK)


def launch_ahead(crawl: CrawlToCome, stop: StopRequest) -> Browser | None:
    """Launch the browser, and wait with it for its crawl; None: its profile is somebody's by now, so launch another.

    Ends the hook where no crawl comes. No profile of somebody's is opened ahead: a crawl copies it as it is then.
    """
    settings, browser, came = Settings(), None, False
    try:
        if is_fresh(settings):
            browser = Browser(settings)
            browser.version()
            crawl.announce_waiting()
            ends = stop.fileno(), crawl.fileno(), browser.pipe.fileno()
            came = crawl.fileno() in select.select(ends, [], [])[0] and crawl.arrive()
    except CDPError as error:
        log(str(error))
    if came and is_fresh(Settings()):
        return browser
    if browser is not None:
        browser.end()
    if not came:
        raise SystemExit(0 if stop else 1)
    return None


def main() -> None:
    stop = StopRequest()
    end_with_engine()
    crawl = CrawlToCome.from_environment()
    browser = None if crawl is None else launch_ahead(crawl, stop)
    remove_files((SESSION, WANTED, *OF_BROWSER))
    settings = Settings()
    if is_file_url(Hook.from_argv().url):
        ready()
        wait_until_wanted(stop)
        if stop:
            return
    browser = browser or Browser(settings)
    code = 1
    try:
        code = serve(browser, stop, settings.int("CHROME_MEMORY_MAX") * MB)
    except CDPError as error:
        if not stop:
            try_again(str(error))
        log("told to stop while Chromium was starting")
        code = 0
    finally:
        remove_files((SESSION, WANTED, *OF_BROWSER))
        browser.end()
    raise SystemExit(code)


if __name__ == "__main__":
    main()
