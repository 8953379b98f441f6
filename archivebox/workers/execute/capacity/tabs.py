"""The machine's places for tabs: a file each, locked while a page has a tab, whichever worker opened it.

With ``TABS`` = n, n - 1 places are for the fresh pages of all crawls, and one is each crawl's own: no crawl waits for
the tabs of another. As many again are for late pages: those that have had a tab for long, and those tried again. Pages
that only wait for their servers stand aside, on places of which there are more: they take memory and nothing else.
"""

import asyncio
import fcntl
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from archivebox.lib.file_watch import ATTRIB, FileWatcher
from archivebox.workers.execute.capacity.slots import Tell

OWN = 64
"""Files for the crawls' own places; two crawls whose ids fall on one share it."""
BORROW_AFTER = 0.1
"""Seconds for which a worker that has its share of the tabs leaves a free place to the others."""
ASIDE = 5
"""Pages that may stand aside, for each tab: 80 MB each, of the browser and of hooks. All others would keep a tab busy
for ten seconds, until they are late."""
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
        self.aside = [folder / f"aside-{number}" for number in range(ASIDE * most)]
        self._folder = folder
        self._loop = loop
        self._waiting: list[Tell] = []
        self._timer: asyncio.TimerHandle | None = None
        self._borrows = False
        self._watcher: FileWatcher | None = None

    def of(self, crawl: UUID, *, late: bool) -> "CrawlTabs":
        """The places that a page of a crawl may take; ``late``: it is tried again."""
        return CrawlTabs(self, [] if late else [*self.shared, self._folder / f"own-{crawl.int % OWN}"])

    @property
    def may_acquire(self) -> bool:
        """Whether this worker takes a free place now: beyond its share only what the others have left."""
        return self._borrows or self.held < self.share

    def notify_when_free(self, tell: Tell) -> None:
        self._watch()
        if tell not in self._waiting:
            self._waiting.append(tell)
        self._tell_after(POLL_EVERY if self.may_acquire else BORROW_AFTER)

    def _watch(self) -> None:
        if self._watcher is None:
            self._folder.mkdir(exist_ok=True)
            self._watcher = FileWatcher(BORROW_AFTER)
            self._watcher.add(self._folder, ATTRIB)
            self._watcher.tell(self._loop, self._on_change)

    def _on_change(self, _: Sequence[str]) -> None:
        if self.may_acquire:
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


class Locked(NamedTuple):
    """A place that was free."""

    descriptor: int
    is_fresh: bool


class CrawlTabs:
    """The places that one page may take: fresh ones, or where it has none of these, those of late pages."""

    def __init__(self, tabs: Tabs, fresh: list[Path]) -> None:
        self.tabs, self._fresh = tabs, fresh

    is_full = False
    """Other workers take and give them back: one has to try."""

    def acquire(self) -> "Tab | None":
        place = self.lock(or_late=not self._fresh)
        return None if place is None else Tab(self, place)

    def lock(self, *, or_late: bool) -> Locked | None:
        """A fresh place if this worker may take one; else one of the late pages, if that will do."""
        if self.tabs.may_acquire and (descriptor := lock_one(self._fresh)) is not None:
            return Locked(descriptor, is_fresh=True)
        if or_late and (descriptor := lock_one(self.tabs.late)) is not None:
            return Locked(descriptor, is_fresh=False)
        return None

    def acquire_over_limit(self) -> None:
        """An adopted tab has inherited the lock of its place."""

    def notify_when_free(self, tell: Tell) -> None:
        self.tabs.notify_when_free(tell)


class Tab:
    """One place, held by this worker and by the hook that inherits ``descriptor``."""

    def __init__(self, places: CrawlTabs, place: Locked) -> None:
        self.is_aside = False
        self._places, self._held = places, True
        self._hold(place)

    def release(self) -> None:
        if self._held:
            self._held = False
            self._unlock()

    def become_late(self) -> bool:
        return not (self._held and self._is_fresh) or self._move_to_one_of(self._places.tabs.late)

    def yield_tab(self) -> None:
        """Make room for the next one until :meth:`reacquire`; where too many stand aside, as a late one."""
        if self._held and not self.is_aside:
            self.is_aside = self._move_to_one_of(self._places.tabs.aside)
            if not self.is_aside:
                self.become_late()

    def reacquire(self) -> bool:
        """Take a place among the fresh or late ones, if there is one."""
        place = self._places.lock(or_late=True)
        if place is not None:
            self.is_aside = False
            self._unlock()
            self._hold(place)
        return place is not None

    def _move_to_one_of(self, files: Iterable[Path]) -> bool:
        descriptor = lock_one(files)
        if descriptor is not None:
            self._unlock()
            self._hold(Locked(descriptor, is_fresh=False))
        return descriptor is not None

    def _hold(self, place: Locked) -> None:
        self.descriptor, self._is_fresh = place
        self._places.tabs.held += self._is_fresh

    def _unlock(self) -> None:
        """Unlocked for the hook as well, which may live on; and whoever waits is told."""
        self._places.tabs.held -= self._is_fresh
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        os.utime(self.descriptor)
        os.close(self.descriptor)


def lock_one(files: Iterable[Path]) -> int | None:
    """The descriptor of the first that nobody holds, locked; None if there is none."""
    return next((descriptor for file in files if (descriptor := lock(file)) is not None), None)


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
        file.parent.mkdir(exist_ok=True)
        return os.open(file, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
