"""Owns what every page that is looked at shows of running work: seen once for all viewers, sent to each by its stream.

There is no queue of events. A part is a piece of a page and has the number of the round in which it last changed; a
viewer is sent all parts that are newer than what it had. Who is slow misses what was in between, and costs no memory.
Each stream has topics: things that all who see as far see, and the crawls that its page shows.
"""

import asyncio
import json
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from django.db import DatabaseError, connection

from archivebox.base_models.visibility import EVERYTHING, MEMBERS, ViewerScope
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.file_watch import ATTRIB, FileWatcher

log = logging.getLogger("archivebox.web")

LEAST_REST, MOST_REST = 0.2, 0.8
"""Seconds between two looks."""
REST = 60
"""How many times as long as a look took, with all that was sent, nothing is done after it."""
UNASKED = 2.0
"""Seconds after which it queries the database although no wake-up file has changed: other machines have their own."""
PARTS = 2_000
"""Parts that are remembered; who comes back with an older number is told to load its page anew."""

Topic = str
"""What a part is of, and who sees it (:mod:`archivebox.web.live.hub`)."""


class PageFragment(NamedTuple):
    """A piece of a page. ``html`` None: the thing has changed, and pages that show it load their own piece of it."""

    topic: Topic
    name: str
    html: str | None


class Kept(NamedTuple):
    """A part, and the number of the round that changed it last."""

    number: int
    part: PageFragment


Look = Callable[[Collection[Topic]], Iterable[PageFragment]]


class Viewer:
    """One open page: what it wants to know of, and up to where it was told."""

    def __init__(self, topics: frozenset[Topic]) -> None:
        self.topics = topics
        self.told = 0
        self.wake = asyncio.Event()
        self.is_gone = False

    def leave(self) -> None:
        self.is_gone = True
        self.wake.set()


class Hub:
    """All viewers of this server. It sleeps without a timer while there is none.

    ``look``: blocks; returns the parts that changed since it was last called, all parts the first time, and whenever
    a topic is new. ``forget``: nobody watches any more.
    """

    def __init__(self, look: Look, forget: Callable[[], object]) -> None:
        self.epoch = secrets.token_hex(4)
        self._look, self._forget = look, forget
        self._viewers: set[Viewer] = set()
        self._parts: OrderedDict[tuple[Topic, str], Kept] = OrderedDict()
        self._number = 1
        self._oldest = 1
        self._known: set[Topic] = set()
        self._messages: dict[tuple[frozenset[Topic], int], bytes] = {}
        self._woken = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    # --- viewers ----------------------------------------------------------------------------------------------

    def join(self, topics: frozenset[Topic], last_id: str = "") -> Viewer:
        """A new viewer, or one that comes back and had everything up to ``last_id``."""
        viewer = Viewer(topics)
        epoch, _, number = last_id.partition("-")
        if epoch == self.epoch and number.isdigit() and self._oldest <= int(number) <= self._number:
            viewer.told = int(number)
            viewer.wake.set()
        self._viewers.add(viewer)
        self._woken.set()
        if self._watching is None:
            self._begin()
        return viewer

    def leave(self, viewer: Viewer) -> None:
        viewer.leave()
        self._viewers.discard(viewer)
        if not self._viewers:
            self._woken.set()

    def message(self, viewer: Viewer) -> bytes:
        """What a viewer has not been told yet, as an event; empty if it knows everything."""
        since, viewer.told = viewer.told, self._number
        key = (viewer.topics, since)
        if key not in self._messages:
            self._messages[key] = self._compose(viewer.topics, since)
        return self._messages[key]

    def _compose(self, topics: frozenset[Topic], since: int) -> bytes:
        newer = [kept.part for kept in self._parts.values() if kept.number > since and kept.part.topic in topics]
        if not newer and since:
            return b""
        said = {
            "parts": {part.name: part.html for part in newer if part.html is not None},
            "changed": [part.name for part in newer if part.html is None] if since else [],
            "reload": not since,
        }
        return b"id: %s-%d\ndata: %s\n\n" % (
            self.epoch.encode(),
            self._number,
            json.dumps(said, separators=(",", ":")).encode(),
        )

    # --- rounds -----------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        self._watching.add_done_callback(self._is_over)

    def _is_over(self, watching: asyncio.Task[None]) -> None:
        """What changes from here on nobody sees: whoever comes back loads its page anew."""
        self._watching = None
        self._parts.clear()
        self._oldest = self._number = self._number + 1
        if not watching.cancelled() and (error := watching.exception()):
            log.error("Looking for viewers broke action=watch_broke", exc_info=error)
            for viewer in self._viewers:
                viewer.leave()
        elif self._viewers:  # they came while we ended
            for viewer in self._viewers:
                viewer.told = 0
            self._begin()

    async def _watch(self) -> None:
        """Query the database after each wake-up, then pause; until no viewer is left."""
        loop = asyncio.get_running_loop()
        watcher = FileWatcher(LEAST_REST)
        with ThreadPoolExecutor(1, "viewers") as thread:
            try:
                for file in (DATA_FOLDER.wakeup_file, DATA_FOLDER.viewers_wakeup_file):
                    DATA_FOLDER.make_folder(file.parent)
                    file.touch()
                    watcher.add(file, ATTRIB)
                watcher.tell(loop, lambda _: self._woken.set())
                while self._viewers:
                    began = time.process_time()
                    self._woken.clear()
                    await self._round(loop, thread)
                    await asyncio.sleep(0)
                    used = time.process_time() - began
                    await asyncio.sleep(min(MOST_REST, max(LEAST_REST, REST * used)))
                    await _wait(self._woken, UNASKED)
            finally:
                watcher.close()
                await loop.run_in_executor(thread, self._end)

    async def _round(self, loop: asyncio.AbstractEventLoop, thread: ThreadPoolExecutor) -> None:
        topics = frozenset(topic for viewer in self._viewers for topic in viewer.topics)
        try:
            parts = list(await loop.run_in_executor(thread, self._look, topics))
        except DatabaseError as error:
            log.warning("The database did not say what is new: %s action=look_failed", error)
            return
        self._publish(parts, topics)

    def _publish(self, parts: Iterable[PageFragment], looked_at: frozenset[Topic]) -> None:
        """Wake those whom it concerns; who came after the look had begun waits for the next one."""
        self._number += 1
        topics = set()
        for part in parts:
            key = (part.topic, part.name)
            self._parts[key] = Kept(self._number, part)
            self._parts.move_to_end(key)
            topics.add(part.topic)
        while len(self._parts) > PARTS:
            _, dropped = self._parts.popitem(last=False)
            self._oldest = dropped.number
        self._messages.clear()
        for viewer in self._viewers:
            if viewer.topics <= looked_at and not (viewer.told and topics.isdisjoint(viewer.topics)):
                viewer.wake.set()

    def _end(self) -> None:
        self._forget()
        connection.close()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


HEADER = "X-ArchiveBox-Topics"
"""How the view that lets somebody have a stream tells which; it goes no further."""
_NAMED = {"all": EVERYTHING, "members": MEMBERS}


def topic_of(scope: ViewerScope, crawl_id: UUID | None = None) -> Topic:
    """``members`` or ``17``; of one crawl ``members/<id>``. Those who own nothing private share theirs."""
    name = next((name for name, known in _NAMED.items() if known == scope), str(scope.account))
    return name if crawl_id is None else f"{name}/{crawl_id}"


def scope_in(topic: Topic) -> ViewerScope:
    name = topic.partition("/")[0]
    return _NAMED.get(name) or ViewerScope(int(name))


def crawls_in(topics: Collection[Topic]) -> set[UUID]:
    """The crawls of which some of these are."""
    return {UUID(key) for topic in topics if (key := topic.partition("/")[2])}
