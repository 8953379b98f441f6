"""A log of a hook on the disk: its first megabytes and its end stay, what lies between is given back."""

import os
from pathlib import Path

from archivebox.lib import processes
from archivebox.machine.logtail import TAIL, open_log, read_tail

MOST_WITHOUT_HOLES = 16
"""So many times the cap may be on a disk that cannot give back the middle of a file, before the hook is ended."""


class CappedLog:
    """One stream of one hook. Never truncated: that loses lines that are being written."""

    def __init__(self, path: str, cap: int) -> None:
        self.path = path
        self.cap = cap
        self.cut = False
        """Whether something was given back."""
        self.overflows = False
        """Whether it grows beyond all measure on a disk that cannot give back the middle of a file."""
        self._upto = cap
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int | None:
        """Open for reading, and for giving back; None while it cannot be opened."""
        if self._descriptor is None:
            self._descriptor = open_log(self.path, os.O_RDWR)
        return self._descriptor

    def size(self) -> int:
        """Bytes it has now; 0 where it cannot be opened."""
        return 0 if self.descriptor is None else os.fstat(self.descriptor).st_size

    def discard(self, upto: int) -> None:
        """Give back the disk of what lies between the cap and ``upto``."""
        if upto <= self._upto or self.descriptor is None:
            return
        self.cut = True
        if processes.punch_hole(self.descriptor, self._upto, upto - self._upto):
            self._upto = upto
        else:
            self.overflows = upto > MOST_WITHOUT_HOLES * self.cap

    def discard_unread(self) -> None:
        """Give back what is beyond the cap of a log that nobody reads, save its end."""
        try:
            size = os.stat(self.path).st_size  # noqa: PTH116 - for every hook that prints
        except OSError:  # it is tried again when its end is read, and told of there
            return
        if size - TAIL > self._upto:
            self.discard(size - TAIL)

    def tail(self) -> tuple[str, int]:
        """Its end as text, and the size of the whole; most hooks say nothing here, which one look at the file tells."""
        try:
            if not os.stat(self.path).st_size:  # noqa: PTH116 - for every hook
                return "", 0
        except FileNotFoundError:
            return "", 0
        except OSError:  # tried again and told of there
            pass
        return read_tail(self.path)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def cut_unread(path: Path, cap: int) -> None:
    """Give back what is beyond the cap of a log that nobody reads any more, save its end."""
    log = CappedLog(str(path), cap)
    log.discard_unread()
    log.close()


def cut_all(runs: Path, cap: int) -> None:
    """Do that with the logs of all runs in a folder: programs of a hook that has ended may have gone on writing."""
    for log in runs.glob("*.std???.log"):
        cut_unread(log, cap)
