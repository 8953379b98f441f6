#!/usr/bin/env python3
"""Keep the HTTP headers of the page's own document, request and response, with the redirects that led to it.

Made from what the recorder wrote, so it needs no live page and can be made again later.
"""

from __future__ import annotations

import json

from archivebox.plugins.base import Hook, noresults, succeeded, try_again, write_atomically
from archivebox.plugins.base.responses import Archive, Response

FILE = "headers.json"
KEPT = {
    "url": "url",
    "status": "status",
    "reason": "status_text",
    "response_headers": "headers",
    "protocol": "protocol",
}
KEPT |= {"address": "remote_address", "mime": "mime", "redirected_to": "to"}


def chain(documents: list[Response]) -> list[Response]:
    """Return the hops to the last document that got an answer, in order; of documents of the main frame."""
    last = max((number for number, document in enumerate(documents) if document.status), default=-1)
    hops = [documents[last]]
    for document in reversed(documents[: max(last, 0)]):
        if document.redirected_to != hops[0].url:
            break
        hops.insert(0, document)
    return hops


def described(hop: Response) -> dict[str, object]:
    """Return request and response of one hop."""
    request = {"url": hop.url, "method": hop.method, "headers": hop.record["request_headers"]}
    return {
        "request": request,
        "response": {ours: hop.record[name] for name, ours in KEPT.items() if name in hop.record},
    }


def main() -> None:
    documents = [response for response in Archive().or_skip().latest() if response.is_main]
    if not documents:
        noresults("the page's own request was not recorded")
    hops = chain(documents)
    last = hops[-1]
    if not last.status:
        try_again(f"the server gave no answer: {last.error}")  # also where a process of the browser was killed
    record = {
        "url": Hook.from_argv().url,
        "final_url": last.url,
        "status": last.status,
        **described(last),
        "redirects": [described(hop) for hop in hops[:-1]],
    }
    succeeded(write_atomically(FILE, json.dumps(record, indent=2) + "\n"))


if __name__ == "__main__":
    main()
