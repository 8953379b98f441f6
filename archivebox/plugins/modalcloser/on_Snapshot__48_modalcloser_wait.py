#!/usr/bin/env python3
"""Let what is being closed be closed before the page is kept: a banner takes autoconsent a second."""

from __future__ import annotations

import time

from world import NAME

from archivebox.plugins.base import Settings, noresults, succeeded
from archivebox.plugins.base.tab import Tab, open_page

CALM = "globalThis.archiveboxModals?.calm({}) ?? 0"
WAIT_MAX = 2.5  # seconds for all frames
SPARE = 3.0  # seconds for the page to answer
WORTH_TELLING = 50  # ms; a shorter wait is the time of the question


def worlds(tab: Tab) -> list[int]:
    """Return the contexts of our script, one a frame: asked for events, the browser tells of those that are there."""
    tab.call("Runtime.enable")
    found = []
    while tab.connection.pending:
        event = tab.connection.next_event(0.0)
        if event is not None and event.method == "Runtime.executionContextCreated":
            context = event.params["context"]
            if context["name"] == NAME:
                found.append(context["id"])
    return found


def calm(tab: Tab, context: int, seconds: float) -> int:
    """Wait until nothing is being closed in a frame; return the milliseconds that took."""
    question = {"expression": CALM.format(seconds), "contextId": context, "awaitPromise": True, "returnByValue": True}
    answer = tab.call("Runtime.evaluate", question, timeout=seconds + SPARE)
    return int(answer["result"].get("value") or 0)


def main() -> None:
    with open_page(Settings().timeout("MODALCLOSER"), read_only=True) as tab:
        deadline = time.monotonic() + WAIT_MAX
        took = sum(calm(tab, context, max(0.0, deadline - time.monotonic())) for context in worlds(tab))
    if took < WORTH_TELLING:
        noresults("nothing is being closed")
    succeeded(f"waited {took / 1000:.1f} s for what is being closed")


if __name__ == "__main__":
    main()
