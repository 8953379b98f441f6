"""Tells each running hook of one worker that its output has grown."""

import asyncio
import os.path
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from archivebox.lib import processes
from archivebox.lib.inotify import MODIFY, Inotify

READ_AFTER = 0.02
"""Seconds that output is gathered before it is read, save of hooks that others wait for."""
POLL_EVERY = 0.1
"""Seconds between two polls of the outputs where no kernel tells."""

Read = Callable[[], None]


class Outputs(ABC):
    """The files that running hooks write to, in the ``.hooks`` folders of their objects."""

    @classmethod
    def on(cls, loop: asyncio.AbstractEventLoop) -> "Outputs":
        """Told by the kernel where it tells, else by polling."""
        return PolledOutputs(loop) if processes.PORTABLE else WatchedOutputs(loop)

    @abstractmethod
    def watch(self, path: str, read: Read, *, at_once: bool) -> None:
        """Call ``read`` after ``path`` grew; ``at_once`` for output that others wait for.

        Raises OSError where its folder cannot be watched.
        """

    @abstractmethod
    def unwatch(self, path: str) -> None:
        """Call nobody any more for ``path``."""

    @abstractmethod
    def unwatch_folder(self, folder: str) -> None:
        """Let go of a folder in which nothing runs any more."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""


class File(NamedTuple):
    """A file as inotify's events name it."""

    watch: int
    name: str


class WatchedOutputs(Outputs):
    """One inotify instance over the folders."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._inotify = Inotify()
        self._watches: dict[str, int] = {}
        self._files: dict[str, File] = {}
        self._readers: dict[File, tuple[Read, bool]] = {}
        self._dirty: dict[File, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        loop.add_reader(self._inotify.fileno(), self._changed)

    def watch(self, path: str, read: Read, *, at_once: bool) -> None:
        folder, name = os.path.split(path)
        watch = self._inotify.add(folder, MODIFY)  # the same for the same folder; a hook may have made it anew
        self._watches[folder] = watch
        self._files[path] = file = File(watch, name)
        self._readers[file] = (read, at_once)

    def unwatch(self, path: str) -> None:
        file = self._files.pop(path, None)
        if file is not None:
            self._readers.pop(file, None)
            self._dirty.pop(file, None)

    def unwatch_folder(self, folder: str) -> None:
        watch = self._watches.pop(folder, None)
        if watch is not None:
            self._inotify.remove(watch)

    def _changed(self) -> None:
        for event in self._inotify.read():
            file = File(event.watch, event.name)
            if file not in self._readers:
                continue
            read, at_once = self._readers[file]
            if at_once:
                read()
            else:
                self._dirty[file] = None
        if self._dirty and self._timer is None:
            self._timer = self._loop.call_later(READ_AFTER, self._read_dirty)

    def _read_dirty(self) -> None:
        self._timer = None
        dirty, self._dirty = self._dirty, {}
        for file in dirty:
            if file in self._readers:
                self._readers[file][0]()

    def close(self) -> None:
        self._loop.remove_reader(self._inotify.fileno())
        self._inotify.close()


class PolledOutputs(Outputs):
    """Where no kernel tells: a poll of each file ten times a second."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._readers: dict[str, Read] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, path: str, read: Read, *, at_once: bool) -> None:
        del at_once
        self._readers[path] = read
        self._poll_later()

    def unwatch(self, path: str) -> None:
        self._readers.pop(path, None)

    def unwatch_folder(self, folder: str) -> None:
        """Nothing is held of a folder."""

    def _poll_later(self) -> None:
        if self._readers and self._timer is None:
            self._timer = self._loop.call_later(POLL_EVERY, self._poll)

    def _poll(self) -> None:
        self._timer = None
        for path in list(self._readers):
            if path in self._readers:  # what was read may have ended another
                self._readers[path]()
        self._poll_later()

    def close(self) -> None:
        self._readers.clear()
        if self._timer is not None:
            self._timer.cancel()
