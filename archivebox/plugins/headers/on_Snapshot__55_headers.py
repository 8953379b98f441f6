#!/usr/bin/env python3
"""Keep the HTTP headers of the page's own document, request and response, with the redirects that led to it.

Made from the tab's network log, so it needs no live page and can be made again later.
"""

from __future__ import annotations

import json
import os

from archivebox.plugins.base import (
    Hook,
    Settings,
    failed,
    give_up_after,
    noresults,
    sibling,
    succeeded,
    try_again,
    write_atomically,
)
from archivebox.plugins.base.netlog import FILE as EVENTS
from archivebox.plugins.base.netlog import read_events

FILE = "headers.json"
KEPT = ("url", "status", "status_text", "headers", "protocol", "remote_address", "remote_port", "mime", "to")


class Hop:
    """One request of the chain and what came back."""

    def __init__(self, request: dict[str, object]) -> None:
        self.request = {key: request[key] for key in ("url", "method", "headers")}
        self.response: dict[str, object] = {}
        self.error = ""


def chain(events: list[dict[str, object]]) -> list[Hop]:
    """Return the hops to the last main document that got an answer, in order.

    Headers from the wire come as events of their own, one for each hop of a request, before or after the hop itself.
    """
    hops: dict[object, list[Hop]] = {}
    sent: dict[object, list[object]] = {}
    received: dict[object, list[object]] = {}
    for event in events:
        kind, request_id = event["event"], event["id"]
        if kind == "sent_headers":
            sent.setdefault(request_id, []).append(event["headers"])
        elif kind == "received_headers":
            received.setdefault(request_id, []).append(event["headers"])
        elif event.get("main"):
            of_request = hops.setdefault(request_id, [])
            if kind == "request":
                of_request.append(Hop(event))
            elif kind in ("redirect", "response") and of_request:
                of_request[-1].response = {key: event[key] for key in KEPT if key in event}
            elif kind == "failed" and of_request:
                of_request[-1].error = str(event["error"])
    answered = [request_id for request_id, each in hops.items() if any(hop.response for hop in each)]
    chosen = answered[-1] if answered else (list(hops)[-1] if hops else None)
    result = hops.get(chosen, [])
    for hop, headers in zip(result, sent.get(chosen, []), strict=False):
        hop.request["headers"] = headers
    for hop, headers in zip((hop for hop in result if hop.response), received.get(chosen, []), strict=False):
        hop.response["headers"] = headers
    return result


def main() -> None:
    hook = Hook.from_argv()
    give_up_after(Settings().timeout("HEADERS"))
    try:
        events = read_events(os.path.join(sibling("chrome"), EVENTS))
    except FileNotFoundError:
        try_again("The tab's network log is not there: the chrome plugin's hooks have to run first.")
    hops = chain(events)
    if not hops:
        noresults("the page's own request is not in the network log")
    last = hops[-1]
    if not last.response:
        failed(f"the server gave no answer: {last.error or 'still waiting'}")
    record = {
        "url": hook.url,
        "final_url": last.request["url"],
        "status": last.response.get("status"),
        "request": last.request,
        "response": last.response,
        "redirects": [{"request": hop.request, "response": hop.response} for hop in hops[:-1]],
    }
    write_atomically(FILE, json.dumps(record, indent=2) + "\n")
    succeeded(FILE)


if __name__ == "__main__":
    main()
