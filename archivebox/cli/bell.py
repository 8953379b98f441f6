"""Owns being told that a file changed: by the kernel, and where it does not tell, by polling five times a second."""

import select
from pathlib import Path

from archivebox.lib import processes
from archivebox.lib.inotify import Inotify

POLL_EVERY = 0.2


class Bell:
    """Watches one file; ``mask`` is of inotify(7)."""

    def __init__(self, path: Path, mask: int) -> None:
        self._inotify = None if processes.PORTABLE else Inotify()
        if self._inotify is not None:
            self._inotify.add(path, mask)

    def wait(self, seconds: float | None, *others: int) -> set[int]:
        """Sleep until the file changes, one of ``others`` is readable, or time is over; returns which others are."""
        own = [] if self._inotify is None else [self._inotify.fileno()]
        if self._inotify is None:
            seconds = POLL_EVERY if seconds is None else min(seconds, POLL_EVERY)
        ready, _, _ = select.select([*own, *others], [], [], seconds)
        if self._inotify is not None:
            self._inotify.read()
        return set(ready) & set(others)

    def close(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
