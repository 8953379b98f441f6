"""Tells each running hook of one worker that its output has grown."""

import asyncio
from collections.abc import Callable, Sequence

from archivebox.lib.file_watch import MODIFY, FileWatcher

READ_AFTER = 0.02
"""Seconds that output is gathered before it is read, save of hooks that others wait for."""
POLL_EVERY = 0.1
"""Seconds between two polls of the outputs where no kernel tells."""

Read = Callable[[], None]


class Outputs:
    """The files that running hooks write to, in the ``.hooks`` folders of their objects."""

    def __init__(self, loop: asyncio.AbstractEventLoop, watcher: FileWatcher | None = None) -> None:
        self._loop = loop
        self._watcher = watcher or FileWatcher(POLL_EVERY)
        self._readers: dict[str, tuple[Read, bool]] = {}
        self._dirty: dict[str, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._watcher.tell(loop, self._changed)

    def watch(self, path: str, read: Read, *, at_once: bool) -> None:
        """Call ``read`` after ``path`` grew; ``at_once`` for output that others wait for.

        Raises OSError where its folder cannot be watched.
        """
        self._watcher.add(path.rpartition("/")[0], MODIFY)  # again for each file: a hook may have made the folder anew
        self._readers[path] = (read, at_once)

    def unwatch(self, path: str) -> None:
        """Call nobody any more for ``path``."""
        self._readers.pop(path, None)
        self._dirty.pop(path, None)

    def unwatch_folder(self, folder: str) -> None:
        """Let go of a folder in which nothing runs any more."""
        self._watcher.remove(folder)

    def unwatch_all(self) -> None:
        """Let go of all folders: nothing runs any more."""
        self._watcher.unwatch_all()

    def _changed(self, paths: Sequence[str]) -> None:
        for path in paths:
            if path not in self._readers:
                continue
            read, at_once = self._readers[path]
            if at_once:
                read()
            else:
                self._dirty[path] = None
        if self._dirty and self._timer is None:
            self._timer = self._loop.call_later(READ_AFTER, self._read_dirty)

    def _read_dirty(self) -> None:
        self._timer = None
        dirty, self._dirty = self._dirty, {}
        for path in dirty:
            if path in self._readers:  # what was read may have ended another
                self._readers[path][0]()

    def close(self) -> None:
        """Let go of everything."""
        self._watcher.close()
        if self._timer is not None:
            self._timer.cancel()
