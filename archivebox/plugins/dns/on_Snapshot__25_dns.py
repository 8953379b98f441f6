#!/usr/bin/env python3
"""Keep which hosts the page was made of: addresses, ports, how much was asked of each, and what failed.

Made from what was recorded, not by asking again: a second look-up may have another answer.
"""

from __future__ import annotations

import json
import urllib.parse

from archivebox.plugins.base import noresults, succeeded, write_atomically
from archivebox.plugins.base.responses import Archive, Response

FILE = "dns.jsonl"
UNRESOLVED = "net::ERR_NAME_NOT_RESOLVED"


class Host:
    """One host name and what is known of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.addresses: set[str] = set()
        self.requests = self.bytes = 0
        self.resolved = True

    def add(self, response: Response) -> None:
        self.requests += 1
        self.bytes += int(response.record.get("wire", 0))
        if address := response.record.get("address"):
            self.addresses.add(str(address))
        if response.error == UNRESOLVED:
            self.resolved = False

    def described(self) -> dict[str, object]:
        facts: dict[str, object] = {"hostname": self.name, "addresses": sorted(self.addresses)}
        return facts | {"resolved": self.resolved, "requests": self.requests, "bytes": self.bytes}


def hosts(responses: list[Response]) -> list[Host]:
    """Return the hosts in the order in which the page first needed them."""
    found: dict[str, Host] = {}
    for response in sorted(responses, key=lambda each: str(each.record["time"])):
        name = urllib.parse.urlsplit(response.url).hostname or ""
        found.setdefault(name, Host(name)).add(response)
    return list(found.values())


def main() -> None:
    found = hosts(Archive().or_skip().latest())
    if not found:
        noresults("the page asked nothing of the network")
    write_atomically(FILE, "".join(json.dumps(host.described()) + "\n" for host in found))
    succeeded(f"{len(found)} host{'s' if len(found) > 1 else ''}")


if __name__ == "__main__":
    main()
