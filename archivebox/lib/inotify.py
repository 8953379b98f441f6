"""Being told by the kernel when files change: a small face of inotify(7)."""

import ctypes
import os
import struct
from pathlib import Path
from typing import NamedTuple

MODIFY = 0x002
ATTRIB = 0x004
CLOSE_WRITE = 0x008
MOVED_TO = 0x080
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
IGNORED = 0x8000
"""What the kernel says when a watch is gone, as its file is."""
MASK_ADD = 0x20000000
OVERFLOW = 0x4000
"""What the kernel says when it has dropped events, of no watch."""
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC
_HEADER = struct.Struct("iIII")


class InotifyEvent(NamedTuple):
    """One change: its watch, and the name of the file in a watched folder ("" for the watched file itself)."""

    watch: int
    mask: int
    name: str


class Inotify:
    """One inotify instance; ``fileno()`` is readable when there are events. Raises OSError where there is none."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._checked(self._libc.inotify_init1(_NONBLOCK_CLOEXEC))

    def fileno(self) -> int:
        return self._fd

    def add(self, path: str | Path, mask: int) -> int:
        """Watch a file or folder; returns the number that its events carry."""
        return self._checked(self._libc.inotify_add_watch(self._fd, os.fsencode(path), mask), path)

    def remove(self, watch: int) -> None:
        """Stop watching; a folder that is gone took its watch with it."""
        self._libc.inotify_rm_watch(self._fd, watch)

    def read(self) -> list[InotifyEvent]:
        """Every event that is there; never blocks."""
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return []
        events, at = [], 0
        while at < len(data):
            watch, mask, _, length = _HEADER.unpack_from(data, at)
            at += _HEADER.size
            events.append(InotifyEvent(watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))))
            at += length
        return events

    def close(self) -> None:
        os.close(self._fd)

    @staticmethod
    def _checked(result: int, path: str | Path | None = None) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), None if path is None else str(path))
        return result
