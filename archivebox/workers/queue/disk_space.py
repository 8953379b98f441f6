"""Whether the disk has room for new work: below ``DISK_FREE_MIN`` none begins."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

POLL_EVERY = 1.0
"""Seconds until who waits for room asks again."""


class DiskSpaceGuard:
    """The disk of one folder; ``tell`` is told once when there is too little, and once when there is enough again."""

    def __init__(self, folder: Path, least: float, tell: Callable[[str], object] = log.warning) -> None:
        self._folder = folder
        self._least = least
        self._tell = tell
        self._there = True

    def has_space(self) -> bool:
        """Whether new work may begin; asked anew each time: statvfs(2) takes microseconds, a disk fills in moments."""
        before, self._there = self._there, self._check()
        if before != self._there:
            self._tell("The disk has space again: work continues." if self._there else self._sentence())
        return self._there

    def problem(self) -> str:
        """Why no work may begin, in a sentence; empty while it may."""
        return "" if self._check() else self._sentence()

    def _check(self) -> bool:
        """A hook writes a page of memory at the least: its log, and the line that says it is started."""
        disk = os.statvfs(self._folder)
        return not disk.f_flag & os.ST_RDONLY and disk.f_bavail * disk.f_frsize >= max(self._least, 1 << 20)

    def _sentence(self) -> str:
        if os.statvfs(self._folder).f_flag & os.ST_RDONLY:
            return "The disk can only be read: no work begins until it can be written again."
        least = max(self._least, 1 << 20) / 1e6
        return f"Less than {least:,.0f} MB of the disk are free (DISK_FREE_MIN): no work begins until there is more."
