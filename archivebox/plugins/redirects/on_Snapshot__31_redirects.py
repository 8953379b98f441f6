#!/usr/bin/env python3
"""Keep the way from the URL to the page, each step with who sent the browser on: server, meta refresh or script."""

from __future__ import annotations

import itertools
import json

from archivebox.plugins.base import Hook, noresults, succeeded, write_atomically
from archivebox.plugins.base.responses import Archive, Response

FILE = "redirects.json"
STEPS_MAX = 100  # a page that sends itself elsewhere for ever is stopped long before
# The browser's words (Page.ClientNavigationReason) for what a document did.
WAYS = {"metaTagRefresh": "meta", "httpHeaderRefresh": "header", "scriptInitiated": "script"}
WAYS |= {"formSubmissionGet": "form", "formSubmissionPost": "form", "anchorClick": "link", "reload": "reload"}


def steps(documents: list[Response]) -> list[dict[str, object]]:
    """Return each step from one document of the main frame to the next."""
    found: list[dict[str, object]] = []
    for before, after in itertools.pairwise(documents):
        by_server = before.redirected_to == after.url
        way = "http" if by_server else WAYS.get(str(after.record.get("because")), "browser")
        found.append({"from": before.url, "to": after.url, "status": before.status, "by": way})
    return found[:STEPS_MAX]


def main() -> None:
    documents = sorted(
        (each for each in Archive().or_skip().latest() if each.is_main), key=lambda each: str(each.record["time"])
    )
    if not documents:
        noresults("the page's own request was not recorded")
    way = steps(documents)
    if not way:
        noresults("the URL is the page itself")
    record = {"url": Hook.from_argv().url, "final_url": documents[-1].url, "redirects": way}
    write_atomically(FILE, json.dumps(record, indent=2) + "\n")
    succeeded(f"{len(way)} to {documents[-1].url}")


if __name__ == "__main__":
    main()
