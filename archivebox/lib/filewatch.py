"""Being told that files have changed: by the kernel where it tells, elsewhere by polling them."""

import asyncio
import os
import select
import selectors
from collections.abc import Callable, Sequence
from typing import TypeAlias

from archivebox.lib.inotify import OVERFLOW, Inotify
from archivebox.lib.processes.platform import PORTABLE

StrPath: TypeAlias = str | os.PathLike[str]
Tell: TypeAlias = Callable[[Sequence[str]], object]
Look: TypeAlias = dict[str, tuple[int, int]]
"""What is seen of a watched path: the time and size of it, or of each file in it."""


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
            self._seen.setdefault(path, _look(path))
            return
        number = self._inotify.add(path, mask)
        self._numbers[path], self._paths[number] = number, path

    def remove(self, path: StrPath) -> None:
        """Let go of a file or folder, if it is watched."""
        path = os.fspath(path)
        self._seen.pop(path, None)
        number = self._numbers.pop(path, None)
        if self._inotify is not None and number is not None:
            self._inotify.remove(number)
            self._paths.pop(number, None)

    def let_go(self) -> None:
        """Watch nothing any more, some time before :meth:`close`, which else waits 15 ms for the kernel to let go."""
        for path in {*self._numbers, *self._seen}:
            self.remove(path)

    def changed(self) -> list[str]:
        """The files that have changed since the last call, by path; never blocks."""
        if self._inotify is None:
            return self._poll()
        events = self._inotify.read()
        if any(event.mask & OVERFLOW for event in events):  # some were dropped: each file may be the one
            return [file for path in self._numbers for file in (path, *_look(path))]
        folders = [(self._paths.get(event.watch), event.name) for event in events]
        return [f"{path}/{name}" if name else path for path, name in folders if path is not None]

    def _poll(self) -> list[str]:
        changed = []
        for path, before in self._seen.items():
            self._seen[path] = now = _look(path)
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


def _look(path: str) -> Look:
    """Of a folder: its files, that of a file itself; what is gone, or cannot be looked at, is not there."""
    try:
        with os.scandir(path) as entries:
            found = [(entry.path, _stat(entry.path)) for entry in entries]
    except NotADirectoryError:
        found = [(path, _stat(path))]
    except OSError:  # whoever reads the files says what is wrong with them
        found = []
    return {file: look for file, look in found if look is not None}


def _stat(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
