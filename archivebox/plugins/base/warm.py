"""For hooks with `warm` in x-hooks: they may be started before their crawl is there, and wait for it.

Such a hook begins so; where nobody wants it any more, it undoes what it has done, and ends:
    crawl = CrawlToCome.from_environment()
    if crawl is not None:  # else the crawl is there, as for any other hook
        ...  # what takes long and is the same for every crawl with these settings
        crawl.announce_waiting()
        select.select([crawl, stop], [], [])
        wanted = not stop and crawl.arrive()
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys

MESSAGE_MAX = 1 << 18  # bytes: options and environment


class CrawlToCome:
    """The crawl that a hook waits for: readable (for select) once it is there, or will never be."""

    def __init__(self, way: socket.socket) -> None:
        self._way = way
        os.set_inheritable(way.fileno(), False)

    @classmethod
    def from_environment(cls) -> CrawlToCome | None:
        number = os.environ.pop("WARM_SOCKET", "")
        return cls(socket.socket(fileno=int(number))) if number else None

    def fileno(self) -> int:
        return self._way.fileno()

    def announce_waiting(self) -> None:
        """Have the engine record the programs that we have started; it may have handed over the crawl already."""
        with contextlib.suppress(BrokenPipeError):
            self._way.send(b".")

    def arrive(self) -> bool:
        """Go on as the hook of the crawl, with its folder, options and environment; False: nobody wants us any more."""
        message = self._receive()
        self._way.close()
        if not message:
            return False
        call = json.loads(message)
        os.chdir(call["cwd"])
        os.environ.update(call["env"])
        sys.argv[1:] = call["argv"]
        return True

    def _receive(self) -> bytes:
        try:
            return self._way.recv(MESSAGE_MAX)
        except ConnectionResetError:  # the other end has closed without reading what we said; what it said is there
            return self._way.recv(MESSAGE_MAX)
