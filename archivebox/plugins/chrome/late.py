"""Owns what is made of a document that came after the navigation had ended: its facts, and whether it is the page.

A script may replace the page a moment after it has loaded: a check of visitors lets the page through, or the site leads
to its log-in page. What is kept is what is shown then, so it is judged as what came first is.
"""

from __future__ import annotations

import json
import os
import time

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

from archivebox.plugins.base import patch_snapshot, waiting, write_atomically
from archivebox.plugins.base.answer_headers import is_page
from archivebox.plugins.base.cdp import CommandFailed
from archivebox.plugins.base.responses import Archive
from archivebox.plugins.base.tab import Navigation, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from archivebox.plugins.base.cdp import Params

    class LiveTab(Protocol):
        """The tab, as far as it is looked at."""

        @property
        def navigation(self) -> Navigation | None: ...
        def call(self, method: str, params: Params | None = None) -> Params: ...
        def evaluate(self, expression: str) -> Any: ...


HTML = ("text/html", "application/xhtml+xml")
UNKNOWN_TYPE = "application/octet-stream"
FILE = "navigation.json"
EXPECTED = "late.json"
LOOK_AGAIN = 0.5  # seconds between two looks at a page that may replace what it shows
# The status is the browser's own word for what it shows; a page may have put its own function there.
SHOWN = """(() => {
  const entry = performance.getEntriesByType("navigation")[0];
  return {url: location.href, mime: document.contentType, status: Number(entry?.responseStatus) || 0};
})()"""


class LateDocument:
    """What the tab shows now, beside `navigation.json`, whose record it keeps up to date.

    `has_moved`: whether the page has changed since its load, so that its words may be others.
    """

    def __init__(self, tab: LiveTab, asked: str, *, has_moved: bool) -> None:
        self._tab, self._asked = tab, asked
        self.record: Params = dict(tab.navigation.record) if tab.navigation else {}
        self._first = str(self.record.get("loader_id") or "")
        self._has_moved = has_moved
        self.refusal: PageRefusal | None = None

    @property
    def is_another(self) -> bool:
        """Whether another document is shown than the one that the navigation left."""
        return bool(self._first) and self.record["loader_id"] != self._first

    def look(self, check_time: float) -> None:
        """See what is shown; a check of visitors that came late has so many seconds to let the page through."""
        seen, deadline, said = self._see(), time.monotonic() + check_time, False
        while seen and self._may_go_on(seen) and time.monotonic() < deadline:
            if not said:
                waiting()
            said = True
            time.sleep(LOOK_AGAIN)
            seen = self._see() or seen
        self.refusal = self._refusal_in(seen) if seen else None
        if self.refusal is not None:
            self.record["refused"] = self.refusal.reason

    def _may_go_on(self, seen: Params) -> bool:
        return may_go_on(seen) if self.is_another else find_visitor_check(seen, went_on=False) is not None

    def _see(self) -> Params:
        """Return what speaks for a refusal; {} where the page is the same, or just goes elsewhere."""
        frame = self._tab.call("Page.getFrameTree")["frameTree"]["frame"]
        self.record["loader_id"] = frame["loaderId"]
        is_elsewhere = frame["url"] != str(self.record.get("final_url", "")).partition("#")[0]
        if not (self.is_another or is_elsewhere or self._has_moved):
            return {}
        try:
            shown: Params = self._tab.evaluate(SHOWN)
            response = self._answer_of(shown)
            if self.is_another:
                self._describe(shown, response)
            if shown["mime"] not in HTML:
                return {}
            seen: Params = self._tab.evaluate(refusal_script())
        except CommandFailed:  # it goes elsewhere at this moment
            return {}
        refresh = refresh_of(response) if seen["refresh"] is None else seen["refresh"]
        return seen | {"status": self.record.get("status") or 0, "said": check_of(response), "refresh": refresh}

    def _answer_of(self, shown: Params) -> Params:
        """Return status and headers of the answer that is shown, as far as they are on record."""
        url = str(shown["url"]).partition("#")[0]
        mains = [each for each in Archive().latest() if each.is_main and each.url == url and each.status]
        headers = mains[-1].record.get("response_headers", {}) if mains else {}
        status = shown["status"] or (mains[-1].status if mains else 0)
        return {"status": status, "headers": headers, "mimeType": shown["mime"]}

    def _describe(self, shown: Params, response: Params) -> None:
        mime = declared_type(response)
        self.record |= {
            "final_url": shown["url"],
            "status": response["status"] or None,
            "status_text": "",
            "mime": mime,
            "retry_after": retry_after(response),
            "static": not is_page(str(shown["mime"])),
            "navigations": int(self.record.get("navigations") or 0) + 1,
        }

    def _refusal_in(self, seen: Params) -> PageRefusal | None:
        if check := find_visitor_check(seen, went_on=self.is_another):
            return check
        if self.is_another and seen["status"] in PUTS_OFF:
            return busy_server(seen["status"])
        if is_login_wall(self._asked, seen["url"], password=seen["password"], user=seen["user"]):
            return login_page(seen["url"])
        return None


def expect_refusal(refusal: PageRefusal) -> None:
    """Have the next navigation wait for what replaced the page when it had settled: hooks were at work on it."""
    late = round(time.time() - os.stat(FILE).st_mtime, 3)
    write_atomically(EXPECTED, json.dumps({"reason": refusal.reason, "seconds": late}) + "\n")


def expected_within() -> float:
    """Return the seconds within which a refusal is to be expected, as it came late before; 0 where none did."""
    record = read_json(EXPECTED)
    return 2 * float(record["seconds"]) + 1.0 if record else 0.0


def tell_facts(record: Params) -> None:
    """Tell what the page is: an address without status and type says that nothing came from there.

    HTML that is not shown, being too large or offered for download, is told as the bytes of a file.
    """
    is_hidden = record["static"] and record["mime"] in HTML
    mime = UNKNOWN_TYPE if is_hidden else record["mime"]
    facts = {"final_url": record["final_url"], "http_status": record["status"] or 0, "mime_type": mime}
    patch_snapshot(**facts, **({"retry_after": record["retry_after"]} if record["retry_after"] else {}))
