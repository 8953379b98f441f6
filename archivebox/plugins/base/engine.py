"""For hooks with `warm` in x-hooks: they may be started before their crawl is there, and wait for it.

Such a hook begins so; where nobody wants it any more, it undoes what it has done, and ends:
    crawl = CrawlToCome.from_environment()
    if crawl is not None:  # else the crawl is there, as for any other hook
        ...  # what takes long and is the same for every crawl with these settings
        crawl.announce_waiting()
        select.select([crawl, stop], [], [])
        wanted = not stop and crawl.arrive()

And for all that work until they are told to stop: `end_with_engine`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import sys
import threading

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


def end_with_engine() -> None:
    """Have this process told to stop (TERM) once no orchestrator and no worker of its collection is left.

    They share a lock of `run/alive`, which the kernel gives us when the last of them has ended, in whatever way. Does
    nothing for a hook that is run by hand.
    """
    path = os.path.join(os.environ.get("DATA_DIR", ""), "run", "alive")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        threading.Thread(target=_wait, args=(descriptor,), daemon=True).start()
    else:
        os.close(descriptor)


def _wait(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.close(descriptor)
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGTERM)  # to that thread: a signal that another one takes wakes no select()
