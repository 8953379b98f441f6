#!/usr/bin/env python3
"""Have consent banners answered and windows closed from the first moment of the page on, and say what was closed.

What was put into the tab ends with the client that put it there, so this one stays until the page is done.
"""

from __future__ import annotations

import json
import selectors

from world import NAME, TELL, library, script

from archivebox.plugins.base import StopRequest, log, noresults, ready, succeeded, try_again
from archivebox.plugins.base.cdp import CDPError, CDPEvent, TargetGone
from archivebox.plugins.base.engine import end_with_engine
from archivebox.plugins.base.tab import Tab

FAREWELL = 2.0  # seconds: whoever closes the tab tells us to stop in the same moment
MOST = 50  # facts that are kept


def install_script(tab: Tab, source: str) -> None:
    """Have our script run in each document of the tab, in a world of its own that can speak to us."""
    tab.call("Page.enable")  # without these two nothing of what follows reaches a new document
    tab.call("Runtime.enable")
    tab.call("Runtime.addBinding", {"name": TELL, "executionContextName": NAME})
    tab.call("Page.addScriptToEvaluateOnNewDocument", {"source": source, "worldName": NAME, "runImmediately": True})


def listen(tab: Tab, stop: StopRequest) -> list[dict[str, object]]:
    """Gather what the script tells until told to stop. Raises TargetGone when the tab is lost."""
    facts: list[dict[str, object]] = []
    with selectors.DefaultSelector() as selector:
        selector.register(stop, selectors.EVENT_READ)
        selector.register(tab.connection, selectors.EVENT_READ)
        try:
            while not stop:
                selector.select(0 if tab.connection.pending else None)
                if not stop and (event := tab.connection.next_event(0.1)) is not None:
                    handle_event(event, facts)
            selector.unregister(stop)
            for _ in range(MOST):  # what was told before we were told to stop; a page may go on telling for ever
                if not tab.connection.pending and not selector.select(0):
                    break
                if (event := tab.connection.next_event(0.1)) is not None:
                    handle_event(event, facts)
        except TargetGone:
            selector.unregister(tab.connection)
            if not stop and not selector.select(FAREWELL):
                raise
    return facts


def handle_event(event: CDPEvent, facts: list[dict[str, object]]) -> None:
    if event.method == "Runtime.bindingCalled" and event.params["name"] == TELL and len(facts) < MOST:
        facts.append(json.loads(event.params["payload"]))


def latest(facts: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return what was told last of each: one that was closed may have come back."""
    return list({(fact["kind"], fact["name"]): fact for fact in facts}.values())


def sentence(facts: list[dict[str, object]]) -> str:
    """Say what became of what was there, as in `closed 1 banner (autoconsent: Onetrust); left 1 window (Photo)`."""
    closed = [fact for fact in facts if fact["closed"]]
    left = [fact for fact in facts if not fact["closed"]]
    return "; ".join(f"{verb} {_counted(ones)}" for verb, ones in (("closed", closed), ("left", left)) if ones)


def _counted(facts: list[dict[str, object]]) -> str:
    parts = []
    for kind in ("banner", "window"):
        ones = [": ".join(filter(None, (str(fact["by"]), str(fact["name"])))) for fact in facts if fact["kind"] == kind]
        if ones:
            parts.append(f"{len(ones)} {kind}{'s' if len(ones) > 1 else ''} ({'; '.join(ones)})")
    return ", ".join(parts)


def main() -> None:
    stop = StopRequest()
    end_with_engine()
    consent = library()
    if not consent:
        log("Consent banners are treated as any window: autoconsent is not installed. To have it: archivebox install")
    try:
        tab = Tab.attach(read_only=True)
        install_script(tab, script(consent))
        ready()
        facts = listen(tab, stop)
    except CDPError as error:
        try_again(f"The tab is lost: {error}")
    facts = latest(facts)
    if not any(fact["closed"] for fact in facts):
        noresults(sentence(facts) or "nothing lay over the page", facts)
    succeeded(sentence(facts), facts)


if __name__ == "__main__":
    main()
