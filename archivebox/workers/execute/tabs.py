"""The machine's places for tabs: a file each, locked while a page has a tab, whichever worker opened it.

With ``TABS`` = n, n - 1 places are for the fresh pages of all crawls, and one is each crawl's own: no crawl waits for
the tabs of another. As many again are for late pages: those that have had a tab for long, and those tried again.
"""

import asyncio
import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from archivebox.lib.filewatch import FileWatcher
from archivebox.lib.inotify import ATTRIB
from archivebox.workers.execute.places import Tell

OWN = 64
"""Files for the crawls' own places; two crawls whose ids fall on one share it."""
BORROW_AFTER = 0.1
"""Seconds for which a worker that has its share of the tabs leaves a free place to the others."""
POLL_EVERY = 1.0
"""Seconds until who waits looks again without having been told: the holder and its worker may have died together."""


class Tabs:
    """What one worker sees of them. ``share`` is how many it takes without looking whether others want one."""

    def __init__(self, folder: Path, most: int, share: int, loop: asyncio.AbstractEventLoop) -> None:
        self.share = share
        self.held = 0
        """Places of fresh pages that this worker holds."""
        self.shared = [folder / f"shared-{number}" for number in range(most - 1)]
        self.late = [folder / f"late-{number}" for number in range(most)]
        self._folder = folder
        self._loop = loop
        self._waiting: list[Tell] = []
        self._timer: asyncio.TimerHandle | None = None
        self._borrows = False
        self._watcher: FileWatcher | None = None

    def of(self, crawl: UUID, *, late: bool) -> "CrawlTabs":
        """The places that a page of a crawl may take; ``late``: it is tried again."""
        return CrawlTabs(
            self, self.late if late else [*self.shared, self._folder / f"own-{crawl.int % OWN}"], late=late
        )

    @property
    def may_take(self) -> bool:
        """Whether this worker takes a free place now: beyond its share only what the others have left."""
        return self._borrows or self.held < self.share

    def tell_when_free(self, tell: Tell) -> None:
        self._watch()
        if tell not in self._waiting:
            self._waiting.append(tell)
        self._tell_after(POLL_EVERY if self.may_take else BORROW_AFTER)

    def _watch(self) -> None:
        if self._watcher is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._watcher = FileWatcher(BORROW_AFTER)
            self._watcher.add(self._folder, ATTRIB)
            self._watcher.tell(self._loop, self._on_change)

    def _on_change(self, _: Sequence[str]) -> None:
        if self.may_take:
            self._tell()
        else:
            self._tell_after(BORROW_AFTER)

    def _tell_after(self, seconds: float) -> None:
        when = self._loop.time() + seconds
        if self._timer is not None and self._timer.when() > when:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and self._waiting:
            self._timer = self._loop.call_at(when, self._time_is_over)

    def _time_is_over(self) -> None:
        self._timer = None
        self._borrows = True
        self._tell()
        self._borrows = False

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._watcher is not None:
            self._watcher.close()


class CrawlTabs:
    """The places that one page may take."""

    def __init__(self, tabs: Tabs, files: list[Path], *, late: bool) -> None:
        self._tabs, self._files, self._late = tabs, files, late

    is_full = False
    """Other workers take and give them back: one has to try."""

    def take(self) -> "Tab | None":
        if self._late or self._tabs.may_take:
            for file in self._files:
                if (descriptor := lock(file)) is not None:
                    return Tab(self._tabs, descriptor, late=self._late)
        return None

    def take_anyway(self) -> None:
        """An adopted tab has inherited the lock of its place."""

    def tell_when_free(self, tell: Tell) -> None:
        self._tabs.tell_when_free(tell)


class Tab:
    """One place, held by this worker and by the hook that inherits ``descriptor``."""

    def __init__(self, tabs: Tabs, descriptor: int, *, late: bool) -> None:
        self.descriptor = descriptor
        self._tabs, self._late, self._held = tabs, late, True
        self._tabs.held += not late

    def give_back(self) -> None:
        if self._held:
            self._held = False
            self._let_go()

    def become_late(self) -> bool:
        if self._held and not self._late:
            descriptors = (lock(file) for file in self._tabs.late)
            descriptor = next((one for one in descriptors if one is not None), None)
            if descriptor is None:
                return False
            self._let_go()
            self.descriptor, self._late = descriptor, True
        return True

    def _let_go(self) -> None:
        """Unlocked for the hook as well, which may live on; and whoever waits is told."""
        self._tabs.held -= not self._late
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        os.utime(self.descriptor)
        os.close(self.descriptor)


def lock(file: Path) -> int | None:
    """The descriptor of the locked file; None if somebody holds it. To close it tells nobody: it is read only."""
    descriptor = _open(file)
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    os.close(descriptor)
    return None


def _open(file: Path) -> int:
    try:
        return os.open(file, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True)
        return os.open(file, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
