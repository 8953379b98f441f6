"""Which address a host answered at, or why there was no connection: by the log of the crawl's egress proxy.

The browser sees only the proxy.
"""

from __future__ import annotations

import os
import urllib.parse

from archivebox.plugins.base.hook import record_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

LOG = os.path.join("egress", "connections.jsonl")
TAIL = 1 << 18  # bytes before our start that are read: the browser goes on with connections of earlier pages
OF_PROXY = ("net::ERR_SOCKS", "net::ERR_PROXY", "net::ERR_TUNNEL")
PORTS = {"http": 80, "https": 443}


class Addresses:
    """Looks addresses up in the log, which grows meanwhile."""

    def __init__(self, crawl_folder: str) -> None:
        self._path = os.path.join(crawl_folder, LOG)
        self._found: dict[tuple[str, int], str] = {}
        self._problems: dict[tuple[str, int], str] = {}
        self._read = max(0, os.path.getsize(self._path) - TAIL) if os.path.exists(self._path) else 0

    def of(self, url: str, told: str) -> str:
        """Return the address of a URL's host; `told` by the browser, where it went out by itself."""
        if not os.path.exists(self._path):
            return told
        place = _place(url)
        if place not in self._found:
            self._read_on()
        return self._found.get(place, "")

    def explain(self, error: str, url: str) -> str:
        """Return what the proxy says of a connection that it did not make; the browser's `error` for all others."""
        if not error.startswith(OF_PROXY) or not os.path.exists(self._path):
            return error
        self._read_on()
        return self._problems.get(_place(url), error)

    def _read_on(self) -> None:
        with open(self._path, "rb") as file:
            if self._read > file.seek(0, os.SEEK_END):
                self._read = 0  # it was put aside and begun anew
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                if b'"closed"' not in line and line.startswith(b"{"):
                    self._learn(record_in(line))

    def _learn(self, entry: Params) -> None:
        if "host" in entry:
            known = self._found if entry["event"] == "connected" else self._problems
            known[entry["host"], entry["port"]] = entry.get("address") or entry.get("message", "")


def _place(url: str) -> tuple[str, int]:
    parts = urllib.parse.urlsplit(url)
    return parts.hostname or "", parts.port or PORTS[parts.scheme]
