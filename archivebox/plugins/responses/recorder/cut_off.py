"""The files of a page that were on their way when its loading was stopped: asked for once more, while it is shown.

They are fetched in the page's place, which gets nothing of them; a replay has them as if they had come in time.
"""

from __future__ import annotations

import time

from .exchange import RecordedExchange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from archivebox.plugins.base.cdp import CDPEvent, Params

TYPES = frozenset({"Image", "Stylesheet", "Script", "Font"})  # what ends by itself, and is the same each time
AT_ONCE = 6  # as many as a browser has open to one host


class CutOff:
    """Those of one tab; `fetch` begins with one of them, whose end is told by `ended`."""

    def __init__(self, main_frame: str, limit: int, fetch: Callable[[RecordedExchange], None]) -> None:
        self._main_frame, self._limit, self._fetch = main_frame, limit, fetch
        self._is_loaded = self._is_stopped = False
        self._waiting: dict[str, RecordedExchange] = {}
        self._under_way: set[RecordedExchange] = set()
        self.lacking: set[str] = set()
        """URLs of which nothing whole has come."""

    def arrived(self) -> None:
        """Another document is there: what the one before did not get is nobody's loss."""
        self._is_loaded = self._is_stopped = False
        self._waiting.clear()
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
        if not self._is_loaded and hop.type in TYPES and hop.method == "GET":
            self._waiting[hop.url] = hop
            self._go_on()

    def ended(self, hop: RecordedExchange) -> None:
        """Take an exchange of which no more will come."""
        if hop.status and not hop.truncated:
            self.lacking.discard(hop.url)
        self._under_way.discard(hop)
        self._go_on()

    def _go_on(self) -> None:
        """The latest first: what was waited for longest may never come."""
        if self._is_stopped:
            self.lacking.update(self._waiting)
            while self._waiting and len(self._under_way) < AT_ONCE:
                again = self._again(self._waiting.popitem()[1])
                self._under_way.add(again)
                self._fetch(again)

    def _again(self, hop: RecordedExchange) -> RecordedExchange:
        told: Params = {"url": hop.url, "method": hop.method, "headers": hop.sent}
        about = {"type": hop.type, "frameId": hop.frame, "loaderId": hop.loader, "wallTime": time.time()}
        return RecordedExchange({"request": told, "initiator": {"url": hop.initiator}, **about}, self._limit)
