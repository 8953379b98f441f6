"""Being told that files have changed: by the kernel where it tells, elsewhere by polling them."""

import asyncio
import ctypes
import os
import select
import selectors
import stat
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

from archivebox.lib.processes.platform import PORTABLE

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


StrPath: TypeAlias = str | os.PathLike[str]
Tell: TypeAlias = Callable[[Sequence[str]], object]
Look: TypeAlias = dict[str, tuple[int, int]]
"""What is seen of a watched path: the time and size of it, or of each file in it."""


_LOST = ATTRIB | DELETE_SELF | MOVE_SELF
"""What may mean that a file has lost its name; it is told besides what is asked for."""


class _WatchedFile(NamedTuple):
    """Which file has the watched name, and for what it is watched."""

    device: int
    inode: int
    mask: int


class FileWatcher:
    """Watches files, and folders with the files in them; who has one sleeps in a select, a selector, or a loop.

    ``poll_every``: seconds between two polls where no kernel tells.
    """

    def __init__(self, poll_every: float, *, polls: bool = PORTABLE) -> None:
        self.polls = polls
        self._poll_every = poll_every
        self._inotify = None if polls else Inotify()
        self._numbers: dict[str, int] = {}
        self._paths: dict[int, str] = {}
        self._files: dict[str, _WatchedFile] = {}
        self._awaited: dict[int, str] = {}
        self._seen: dict[str, Look] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    # --- what is watched --------------------------------------------------------------------------------------

    def add(self, path: StrPath, mask: int) -> None:
        """Watch a file or folder for the changes in ``mask`` (inotify(7)); one made anew under the same name, too.

        A poll sees what shows in a file's time or size. Raises OSError where the kernel cannot watch it.
        """
        path = os.fspath(path)
        if self._inotify is None:
            self._seen.setdefault(path, _scan(path))
            return
        status = Path(path).stat()
        is_folder = stat.S_ISDIR(status.st_mode)
        number = self._inotify.add(path, mask if is_folder else mask | _LOST)
        self._numbers[path], self._paths[number] = number, path
        if not is_folder:
            self._files[path] = _WatchedFile(status.st_dev, status.st_ino, mask)

    def remove(self, path: StrPath) -> None:
        """Let go of a file or folder, if it is watched."""
        path = os.fspath(path)
        self._seen.pop(path, None)
        self._files.pop(path, None)
        number = self._numbers.pop(path, None)
        if self._inotify is not None and number is not None:
            self._inotify.remove(number)
            self._paths.pop(number, None)

    def unwatch_all(self) -> None:
        """Watch nothing any more, some time before :meth:`close`, which else waits 15 ms for the kernel to let go."""
        for path in {*self._numbers, *self._files, *self._seen}:
            self.remove(path)
        while self._inotify is not None and self._awaited:
            self._inotify.remove(self._awaited.popitem()[0])

    def changed(self) -> list[str]:
        """The files that have changed since the last call, by path; never blocks."""
        if self._inotify is None:
            return self._poll()
        events = self._inotify.read()
        if any(event.mask & OVERFLOW for event in events):  # some were dropped: each file may be the one
            for path in list(self._files):
                self._find_again(path, is_lost=False)
            return [file for path in {*self._numbers, *self._files} for file in (path, *_scan(path))]
        changed = map(self._changed_by, events)
        return [path for path in dict.fromkeys(changed) if path is not None]

    def _changed_by(self, event: InotifyEvent) -> str | None:
        """The file of which an event tells; None for what nobody asked for."""
        folder = self._paths.get(event.watch, self._awaited.get(event.watch))
        if folder is None:
            return None
        path = f"{folder}/{event.name}" if event.name else folder
        known = self._files.get(path)
        if known is None:
            return path if event.watch in self._paths else None
        is_lost = bool(event.name) or bool(event.mask & (DELETE_SELF | IGNORED))
        is_another = self._find_again(path, is_lost=is_lost)
        return path if is_another or event.mask & known.mask else None

    def _find_again(self, path: str, *, is_lost: bool) -> bool:
        """Watch the file that has this name now, or its folder until there is one. False: it is the same as before.

        ``is_lost``: the watch is gone, or another file came; a new one may have the number of the old.
        """
        assert self._inotify is not None  # noqa: S101 - who polls is asked for nothing
        known = self._files[path]
        now = _stat_of(path)
        if now is not None and not is_lost and (now.st_dev, now.st_ino) == (known.device, known.inode):
            return False
        self.remove(path)
        self._files[path] = known._replace(inode=-1)
        folder = str(Path(path).parent)
        with suppress(FileNotFoundError):  # then there is none yet: its folder tells
            self._awaited[self._inotify.add(folder, CREATE | MOVED_TO | MASK_ADD)] = folder
            self.add(path, known.mask)
        return True

    def _poll(self) -> list[str]:
        changed = []
        for path, before in self._seen.items():
            self._seen[path] = now = _scan(path)
            changed += sorted(file for file in now.keys() | before.keys() if now.get(file) != before.get(file))
        return changed

    # --- sleeping until there is something --------------------------------------------------------------------

    def wait(self, seconds: float | None, *others: int) -> set[int]:
        """Sleep until a file changes, one of ``others`` is readable, or time is over; returns which others are."""
        own = [] if self._inotify is None else [self._inotify.fileno()]
        ready, _, _ = select.select([*own, *others], [], [], self.at_most(seconds))
        self.changed()
        return set(ready) & set(others)

    def at_most(self, seconds: float | None) -> float | None:
        """How long to sleep of ``seconds`` (None: for ever) before :meth:`changed` is asked again."""
        if self._inotify is not None:
            return seconds
        return self._poll_every if seconds is None else min(seconds, self._poll_every)

    def register(self, selector: selectors.BaseSelector, data: object = None) -> None:
        """Have a selector wake up when a file changes; it sleeps :meth:`at_most` so long."""
        if self._inotify is not None:
            selector.register(self._inotify.fileno(), selectors.EVENT_READ, data)

    def tell(self, loop: asyncio.AbstractEventLoop, tell: Tell) -> None:
        """Call ``tell`` on the loop with the files that have changed, each time some have."""
        self._loop = loop
        if self._inotify is not None:
            loop.add_reader(self._inotify.fileno(), self._tell, tell)
        else:
            self._timer = loop.call_later(self._poll_every, self._tell_again, tell)

    def _tell(self, tell: Tell) -> None:
        if changed := self.changed():
            tell(changed)

    def _tell_again(self, tell: Tell) -> None:
        self._tell(tell)
        if self._loop is not None:
            self._timer = self._loop.call_later(self._poll_every, self._tell_again, tell)

    def close(self) -> None:
        """Let go of everything; nobody is told any more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._inotify is not None:
            if self._loop is not None:
                self._loop.remove_reader(self._inotify.fileno())
            self._inotify.close()
        self._loop = None


def _scan(path: str) -> Look:
    """Of a folder: its files, that of a file itself; what is gone, or cannot be looked at, is not there."""
    try:
        with os.scandir(path) as entries:
            found = [(entry.path, _stat(entry.path)) for entry in entries]
    except NotADirectoryError:
        found = [(path, _stat(path))]
    except OSError:  # whoever reads the files says what is wrong with them
        found = []
    return {file: look for file, look in found if look is not None}


def _stat_of(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except FileNotFoundError:
        return None


def _stat(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
