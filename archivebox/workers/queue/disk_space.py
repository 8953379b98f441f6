"""Whether the disk has room for new work: below ``DISK_FREE_MIN`` bytes or ``FILES_FREE_MIN`` files none begins."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

POLL_EVERY = 1.0
"""Seconds until who waits for room asks again."""

FILES_FREE_MIN = 1_000
"""Files that the pages of a few workers make."""


class DiskSpaceGuard:
    """The disk of one folder; ``tell`` is told once when there is too little, and once when there is enough again."""

    def __init__(self, folder: Path, least: float, tell: Callable[[str], object] = log.warning) -> None:
        self._folder = folder
        self._least = least
        self._tell = tell
        self._there = True

    def has_space(self) -> bool:
        """Whether new work may begin; asked anew each time: statvfs(2) takes microseconds, a disk fills in moments."""
        problem = self.problem()
        if bool(problem) == self._there:
            self._tell(problem or "The disk has space again: work continues.")
        self._there = not problem
        return self._there

    def problem(self) -> str:
        """Why no work may begin, in a sentence; empty while it may.

        A hook writes a page of memory at the least: its log, and the line that says it is started.
        """
        try:
            disk = os.statvfs(self._folder)
        except OSError as error:
            return f"The data folder cannot be read ({error.strerror}): no work begins until it can be."
        if disk.f_flag & os.ST_RDONLY:
            return "The disk can only be read: no work begins until it can be written again."
        if disk.f_bavail * disk.f_frsize < (least := max(self._least, 1 << 20)):
            return (
                f"Less than {least / 1e6:,.0f} MB of the disk are free (DISK_FREE_MIN): no work begins until there "
                "is more."
            )
        if disk.f_files > 0 and disk.f_favail < FILES_FREE_MIN:  # file systems that make inodes as needed have 0 files
            return (
                f"The disk has room for {disk.f_favail:,} more files (inodes; `df -i` shows them): no work begins "
                f"until there is room for {FILES_FREE_MIN:,}."
            )
        return ""
