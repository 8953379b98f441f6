"""Ending processes that belong together: a signal, a grace, and KILL until nobody is left."""

import asyncio
import logging
import os
import select
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from typing import NamedTuple

from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.platform import PORTABLE
from archivebox.lib.processes.process_info import ProcessInfo

if PORTABLE:
    from archivebox.lib.processes.portable import child_lookup, inspect
else:
    from archivebox.lib.processes.procfs import child_lookup, inspect

log = logging.getLogger(__name__)

KILL_SECONDS = 10.0
"""How long KILL is repeated: longer lives only what sleeps in the kernel, or is not ours to signal."""

EXEC_SECONDS = 0.002
"""Until an empty tree is read a second time: while a process passes execve(2) it shows no environment, thus no mark."""

SURE_SECONDS = 1.0
"""How long an empty tree is read again because somebody of unknown origin has just ended beside it."""

PORTABLE_POLL_SECONDS = 0.05
"""How often to poll where there is no pidfd to sleep on."""

_MAX_WAIT_FDS = 256
"""Descriptors waited on at once; a larger tree is waited for in parts."""


Kinship = Callable[[int], list[int]]
"""Answers which pids are the children of a pid."""


class Pause(NamedTuple):
    """Wait until all of ``pidfds`` have ended, or ``seconds`` are over."""

    pidfds: list[int]
    seconds: float


class ProcessGroup(ABC):
    """Processes that are ended together; who they are is read anew after each step."""

    root: ProcessIdentity | None = None
    """Who may be told before the others."""
    since = 0
    """Nobody older belongs to it, in ticks."""

    def __init__(self) -> None:
        self._leaders: dict[
            int, ProcessIdentity
        ] = {}  # sessions seen in the group, known by them when the leader is gone
        self._dead: set[ProcessIdentity] = set()
        self._missed = False

    @abstractmethod
    def members(self) -> set[ProcessIdentity]:
        """Its live processes; a zombie is none, it waits for its reaper alone."""

    @property
    def _owns_its_groups(self) -> bool:
        """Whether every process group that a member leads is within."""
        return True

    def _living(self, found: dict[int, tuple[ProcessIdentity, ProcessInfo]]) -> set[ProcessIdentity]:
        self._dead |= {identity for identity, seen in found.values() if seen.zombie}
        return {identity for identity, seen in found.values() if not seen.zombie}

    def _walk(
        self, pids: Iterable[int], found: dict[int, tuple[ProcessIdentity, ProcessInfo]], children_of: Kinship
    ) -> None:
        """Add ``pids`` and all their descendants to ``found``."""
        here = ProcessIdentity.current()
        waiting = [pid for pid in pids if pid != here.pid]
        while waiting:
            pid = waiting.pop()
            if pid in found:
                continue
            seen = self._inspect(pid)
            if seen is None or seen.start_ticks < self.since:
                continue
            identity = here.of_neighbour(pid, seen.start_ticks)
            found[pid] = (identity, seen)
            if seen.session == pid:
                self._leaders[pid] = identity
            waiting.extend(children_of(pid))

    def _inspect(self, pid: int) -> ProcessInfo | None:
        """What one of a list is; who is gone since it was made may have left a child that is not on it."""
        seen = inspect(pid)
        self._missed |= seen is None
        return seen

    async def end(self, *, grace: float, root_first: float = 0.0) -> bool:
        """End all of them: TERM, ``grace`` seconds, then KILL until nothing is left.

        ``root_first``: so many of these seconds the root alone is told, so that it can wind its programs down in order.
        True when it is gone; False when something outlived KILL for 10 s. Woken by pidfds.
        """
        steps = self._end(grace, root_first)
        try:
            while True:
                await _wait_async(next(steps))
        except StopIteration as stop:
            return bool(stop.value)

    def end_blocking(self, *, grace: float) -> bool:
        """The same for callers without an event loop."""
        steps = self._end(grace)
        try:
            while True:
                _wait_blocking(next(steps))
        except StopIteration as stop:
            return bool(stop.value)

    def _end(self, grace: float, root_first: float = 0.0) -> Generator[Pause, None, bool]:
        """The ending as a row of steps; whoever drives it waits as each pause says."""
        told: set[ProcessIdentity] = set()
        deadline = time.monotonic() + grace
        if self.root is not None and root_first:
            yield from self._tell_root(self.root, min(root_first, grace))
            told.add(self.root)
        while (left := deadline - time.monotonic()) > 0:
            members = yield from self._members_for_sure()
            if not members:
                return True
            yield from self._signal(members, members - told, signal.SIGTERM, left)
            told |= members
        deadline = time.monotonic() + KILL_SECONDS
        while members := (yield from self._members_for_sure()):
            if time.monotonic() > deadline:
                return False
            yield from self._signal(members, members, signal.SIGKILL, 0.2)
        return True

    def _tell_root(self, root: ProcessIdentity, seconds: float) -> Generator[Pause, None, None]:
        """Signal the root alone and wait until it has ended or ``seconds`` are over."""
        targets = {root}
        deadline = time.monotonic() + seconds
        while root.is_alive() and not root.is_zombie() and (left := deadline - time.monotonic()) > 0:
            yield from self._signal({root}, targets, signal.SIGTERM, left)
            targets = set()

    def _members_for_sure(self) -> Generator[Pause, None, set[ProcessIdentity]]:
        """Its live processes; none only if two readings found nobody alive, and the second nobody who went in between.

        Who passes execve bears no mark for a moment, and of a daemon that forks and exits all the while one may find
        nothing but the dead, or, where they are buried at once, nothing at all.
        """
        members, until = self.members(), time.monotonic() + SURE_SECONDS
        while not members and time.monotonic() < until:
            dead = self._dead
            yield Pause([], EXEC_SECONDS)
            members = self.members()
            if self._dead <= dead and not self._missed:
                break
        return members

    def _signal(
        self, members: set[ProcessIdentity], targets: set[ProcessIdentity], signum: int, seconds: float
    ) -> Generator[Pause, None, None]:
        """Open all descriptors first, then signal, then wait: nobody slips away between the two."""
        opened = (identity.open_pidfd() for identity in list(members)[:_MAX_WAIT_FDS])
        pidfds = [fd for fd in opened if fd is not None]
        try:
            group = signum == signal.SIGKILL and self._owns_its_groups
            for identity in targets:
                _try_signal(identity, signum, group=group)
            yield Pause(pidfds, min(seconds, PORTABLE_POLL_SECONDS) if PORTABLE else seconds)
        finally:
            for fd in pidfds:
                os.close(fd)


class StrayProcesses(ProcessGroup):
    """Whomever ``find`` finds each time, with their descendants, ended side by side."""

    def __init__(self, find: Callable[[], Iterable[ProcessIdentity]]) -> None:
        super().__init__()
        self._find = find

    def members(self) -> set[ProcessIdentity]:
        found: dict[int, tuple[ProcessIdentity, ProcessInfo]] = {}
        self._dead, self._missed = set(), False
        self._walk((identity.pid for identity in self._find() if identity.is_alive()), found, child_lookup())
        return self._living(found)


def _try_signal(identity: ProcessIdentity, signum: int, *, group: bool) -> None:
    try:
        if not group or not identity.signal_group(signum):
            identity.signal(signum)
    except PermissionError:
        log.warning("pid %d runs as another user: signal %d not sent", identity.pid, signum)


def _wait_blocking(pause: Pause) -> None:
    if PORTABLE:
        time.sleep(pause.seconds)
        return
    if not pause.pidfds:
        time.sleep(min(pause.seconds, EXEC_SECONDS))
        return
    deadline = time.monotonic() + pause.seconds
    poll = select.poll()
    for fd in pause.pidfds:
        poll.register(fd, select.POLLIN)
    waiting = len(pause.pidfds)
    while waiting and (left := deadline - time.monotonic()) > 0:
        for fd, _ in poll.poll(left * 1000):
            poll.unregister(fd)
            waiting -= 1


async def _wait_async(pause: Pause) -> None:
    if PORTABLE:
        await asyncio.sleep(pause.seconds)
        return
    if not pause.pidfds:
        await asyncio.sleep(min(pause.seconds, EXEC_SECONDS))
        return
    loop = asyncio.get_running_loop()
    all_ended: asyncio.Future[None] = loop.create_future()
    waiting = set(pause.pidfds)

    def ended(fd: int) -> None:
        loop.remove_reader(fd)
        waiting.discard(fd)
        if not waiting and not all_ended.done():
            all_ended.set_result(None)

    for fd in pause.pidfds:
        loop.add_reader(fd, ended, fd)
    try:
        await asyncio.wait([all_ended], timeout=pause.seconds)
    finally:
        for fd in waiting:
            loop.remove_reader(fd)
