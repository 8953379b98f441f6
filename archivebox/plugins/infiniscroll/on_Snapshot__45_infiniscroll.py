#!/usr/bin/env python3
"""Scroll down the page screen by screen until there is no more of it, or enough, and back to its top."""

from __future__ import annotations

import os
import time

from archivebox.plugins.base import Settings, noresults, succeeded
from archivebox.plugins.base.inject import World
from archivebox.plugins.base.tab import Tab, open_page

SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "scroll.js")
NO_WAIT = 0.001  # seconds, for what has come already: with none at all nothing is read
LOOK = 0.02  # seconds; an answer to a request that has just been made is on its way
PAUSE = 0.4  # seconds without a request at the end of the page, after which it is over
UNMOVED = 0.1  # seconds at the end of a page that listens to no scrolling, changes nothing by it and asks for nothing
# The objects that hear of scrolling: what listens to one of them may load more in its own time.
SCROLLED = "[window, document, document.documentElement, document.body, document.scrollingElement]"
LISTENED_TO = frozenset({"scroll", "scrollend", "wheel"})


class Traffic:
    """The requests of the page since scrolling began, from the events of a connection of its own."""

    def __init__(self) -> None:
        tab = Tab.attach(read_only=True)
        self._connection = tab.connection
        self._open: set[str] = set()
        self.quiet_since = time.monotonic()
        self.size = 0
        self.is_moved = False  # has anything been asked for?
        tab.call("Network.enable")

    def handle_events(self, seconds: float) -> None:
        """Take what is told, and wait so long for more."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 or self._connection.pending:
            event = self._connection.next_event(max(left, 0.0))
            if event is None:
                continue
            if event.method == "Network.requestWillBeSent":
                self._open.add(event.params["requestId"])
                self.is_moved = True
            elif event.method in ("Network.loadingFinished", "Network.loadingFailed"):
                self._open.discard(event.params["requestId"])
                self.size += int(event.params.get("encodedDataLength", 0))
            else:
                continue
            self.quiet_since = time.monotonic()

    def wait_until_quiet(self, pause: float, deadline: float) -> None:
        """Wait until nothing has been asked for or has come for `pause` seconds, at most until `deadline`."""
        began = time.monotonic()
        while (now := time.monotonic()) < deadline:
            since = max(self.quiet_since, began)
            if not self._open and now - since >= pause:
                return
            self.handle_events(min(deadline, since + pause) - now if not self._open else LOOK)


class Scroller:
    """One way down a page."""

    def __init__(self, tab: Tab, script: str, settings: Settings) -> None:
        self._world = World(tab, "infiniscroll")
        self._world.put(script)
        self._limit = settings.int("INFINISCROLL_SCROLL_LIMIT")
        self._size = settings.int("INFINISCROLL_MAX_SIZE")
        self._time = settings.float("INFINISCROLL_MAX_TIME")
        self._deadline = time.monotonic() + self._time
        self._tab = tab
        self.screens = 0

    def place(self) -> tuple[int, bool]:
        """Return how tall the page is and whether its end is in sight."""
        return self._ask("where")

    def down(self) -> str:
        """Scroll as far as it goes, and say why it ended."""
        self.traffic, self._listens = Traffic(), listens_to_scrolling(self._tab)
        height, at_end = self._ask("where")
        while not (why := self._reached()):
            if at_end:
                self.traffic.wait_until_quiet(self._patience(), self._deadline)
                former, (height, at_end) = height, self._ask("where")
                if at_end and height <= former:
                    return "no more"
            else:
                height, at_end = self._ask("down")
                self.screens += 1
                self.traffic.handle_events(NO_WAIT)
        return why

    def back(self) -> None:
        """Go to the top, and have what is still under way come."""
        self._ask("back")
        self.traffic.wait_until_quiet(LOOK, self._deadline)

    def _patience(self) -> float:
        """Return for how many seconds without a request something may still come at the end of the page."""
        self.traffic.handle_events(NO_WAIT)
        may_come = self._listens or self.traffic.is_moved or self._world.call("() => scroller.moved()")
        return PAUSE if may_come else min(PAUSE, UNMOVED)

    def _reached(self) -> str:
        if self.screens >= self._limit:
            return f"at {counted(self._limit)}"
        if self.traffic.size >= self._size:
            return f"after {self.traffic.size / 1e6:.0f} MB"
        return f"after {self._time:g} s" if time.monotonic() >= self._deadline else ""

    def _ask(self, what: str) -> tuple[int, bool]:
        place = self._world.call(f"() => scroller.{what}()")
        return place["height"], place["atEnd"]


def listens_to_scrolling(tab: Tab) -> bool:
    """Say whether a script of the page listens to its scrolling."""
    group = {"objectGroup": "infiniscroll"}
    objects = tab.call("Runtime.evaluate", {"expression": SCROLLED, **group})["result"]["objectId"]
    properties = tab.call("Runtime.getProperties", {"objectId": objects, "ownProperties": True})["result"]
    ids = [each["value"]["objectId"] for each in properties if "objectId" in each.get("value", {})]
    found = [tab.call("DOMDebugger.getEventListeners", {"objectId": each})["listeners"] for each in ids]
    tab.call("Runtime.releaseObjectGroup", group)
    return any(listener["type"] in LISTENED_TO for listeners in found for listener in listeners)


def counted(screens: int) -> str:
    return f"{screens} screen" if screens == 1 else f"{screens} screens"


def main() -> None:
    settings = Settings()
    with open(SCRIPT, encoding="utf-8") as file:
        script = file.read()
    with open_page(settings.timeout("INFINISCROLL")) as tab:
        scroller = Scroller(tab, script, settings)
        height, at_end = scroller.place()
        if at_end:
            noresults("the whole page is in sight")
        why = scroller.down()
        scroller.back()
        final, _ = scroller.place()
    facts = {"screens": scroller.screens, "bytes": scroller.traffic.size, "height": [height, final], "stopped": why}
    succeeded(f"scrolled {counted(scroller.screens)}, stopped: {why}", facts)


if __name__ == "__main__":
    main()
