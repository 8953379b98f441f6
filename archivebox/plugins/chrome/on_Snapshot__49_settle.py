#!/usr/bin/env python3
"""Wait until the page has settled as it is seen, so that all that is kept of it afterwards shows one state.

Two looks at the layout have to agree, with no animation that ends by itself, no picture and no font under way; the
first may be the navigation's, at the load. A page that shows signs of being made (a cover, a spinner, requests, a
change between two looks) has to be calm for longer. Another document that came meanwhile is judged as the first was.
"""

from __future__ import annotations

import json
import time

from arrival import layout_script, likeness
from late import FILE, LateDocument, tell_facts
from shared_files import write_shared_files

from archivebox.plugins.base import Hook, Settings, failed, log, succeeded, try_again, write_atomically
from archivebox.plugins.base.cdp import CommandFailed
from archivebox.plugins.base.hook import remove
from archivebox.plugins.base.inject import CLOSED_ROOTS, find_closed_roots
from archivebox.plugins.base.tab import PROBE, Tab, open_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import CDPEvent, Params

PAUSE = 0.04  # seconds between two looks, more than two frames: within one they would see the same picture
AGAIN = 0.2  # seconds, once the page is known to be moving
ENDS = frozenset({"Network.loadingFinished", "Network.loadingFailed"})


class PageStability:
    """What is known of the page's movement. `needed`: for how many seconds it has to be without any."""

    def __init__(self, settle_time: float) -> None:
        self._settle_time = settle_time
        self._open: set[str] = set()
        self._last: Params = {}
        self._moved_at = 0.0
        self.needed = 0.0
        self.waits_for: list[str] = []
        self.waited_for: set[str] = set()

    def handle_event(self, event: CDPEvent, now: float) -> None:
        """A request is a movement from its beginning to its end; those that began before we came are navigation's."""
        if event.method == "Network.requestWillBeSent":
            self._open.add(event.params["requestId"])
            self._moved("requests", now)
        elif event.method in ENDS and event.params["requestId"] in self._open:
            self._open.discard(event.params["requestId"])
            self._moved("requests", now)

    def look(self, seen: Params, now: float) -> None:
        """Compare what is seen with what was seen before."""
        if not self._last:
            self._moved_at = now - seen["sinceLoad"]
        elif seen["shape"] != self._last["shape"]:
            self._moved("changes of the layout", now)
        for sign in seen["signs"]:
            self._signs_of_life(sign)
        under_way = {"animations": seen["animations"], "pictures": seen["pictures"], "fonts": seen["fonts"]}
        under_way["requests"] = len(self._open)
        self.waits_for = [what for what, count in under_way.items() if count]
        self.waited_for.update(self.waits_for)
        self._last = seen

    def is_as_it_was(self, at_the_load: int | None, now: float) -> bool:
        """Say whether it looks as it did then, more than a frame ago."""
        return self.is_like(at_the_load) and now - self._moved_at >= PAUSE

    def is_like(self, before: int | None) -> bool:
        return likeness(self._last) == before

    def is_settled(self, now: float) -> bool:
        return not self.waits_for and now - self._moved_at >= self.needed

    def _moved(self, what: str, now: float) -> None:
        self._moved_at = now
        self._signs_of_life(what)

    def _signs_of_life(self, what: str) -> None:
        self.needed = self._settle_time
        self.waited_for.add(what)


def settle(tab: Tab, settle_time: float, limit: float) -> tuple[PageStability, float, bool]:
    """Look at the page until it is calm; returns what was seen, after how many seconds, and whether it is."""
    tab.call("Network.enable")
    calm, started = PageStability(settle_time), time.monotonic()
    calm.look(look(tab), now := time.monotonic())
    before = tab.navigation.record.get("look") if tab.navigation else None
    if calm.is_as_it_was(before, now) and calm.is_settled(now):
        return calm, now - started, True
    while True:
        watch(tab, calm, AGAIN if calm.needed or calm.waits_for else PAUSE)
        calm.look(look(tab), now := time.monotonic())
        if calm.is_settled(now) or now - started >= limit:
            return calm, now - started, calm.is_settled(now)


def watch(tab: Tab, calm: PageStability, seconds: float) -> None:
    """Take the tab's events for so long."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        event = tab.connection.next_event(left)
        if event is not None:
            calm.handle_event(event, time.monotonic())


def look(tab: Tab) -> Params:
    """Return what is seen; a page that is replaced meanwhile is looked at again."""
    script = layout_script()
    try:
        seen: Params = tab.evaluate(script, timeout=PROBE)
    except CommandFailed as error:
        log(f"looking again: {error}")
        seen = tab.evaluate(script, timeout=PROBE)
    return seen


def keep_closed_roots(roots: list[int]) -> None:
    """Tell those who keep the page of the shadow roots that no script finds."""
    remove(CLOSED_ROOTS)
    if roots:
        write_atomically(CLOSED_ROOTS, json.dumps({"roots": roots}) + "\n")


def check_document(tab: Tab, url: str, calm: PageStability, check_time: float) -> LateDocument:
    """Look whether what is there now is the page, and have it on record where it is another document than before."""
    before = tab.navigation.record.get("look") if tab.navigation else None
    late = LateDocument(tab, url, has_moved=bool(calm.waited_for) or not calm.is_like(before))
    late.look(check_time)
    late.record["judged"] = True  # what comes from now on comes while hooks are at work on the page
    write_atomically(FILE, json.dumps(late.record, indent=2) + "\n")
    if late.is_another or late.refusal:
        tell_facts(late.record)
        write_shared_files(final_url=late.record["final_url"])
    return late


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    limit, settle_time = settings.float("CHROME_SETTLE_MAX"), settings.float("CHROME_SETTLE_TIME")
    with open_page(settings.timeout("CHROME"), read_only=True) as tab:
        calm, seconds, settled = settle(tab, settle_time, limit)
        before = tab.navigation.refused if tab.navigation else ""
        late = None if before else check_document(tab, hook.url, calm, settings.float("CHROME_CHECK_TIME"))
        if late is not None and late.is_another and not late.refusal:
            calm, more, settled = settle(tab, settle_time, limit)
            seconds += more
        roots = find_closed_roots(tab)
    keep_closed_roots(roots)
    if late is not None and late.refusal and late.refusal.may_pass:
        try_again(late.refusal.sentence, late.record, reason=late.refusal.reason, after=late.record["retry_after"])
    if late is not None and late.refusal:
        failed(late.refusal.sentence, late.record, reason=late.refusal.reason)
    facts = {"seconds": round(seconds, 3), "settled": settled, "waited_for": sorted(calm.waited_for)}
    waited = f", waited for {', '.join(sorted(calm.waited_for))}" if calm.waited_for else ""
    succeeded(
        f"settled after {seconds:.1f} s{waited}" if settled else f"stopped: still moving after {limit:g} s{waited}",
        facts,
    )


if __name__ == "__main__":
    main()
