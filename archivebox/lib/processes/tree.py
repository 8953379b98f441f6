"""The whole tree of one started process: who belongs to it."""

import os
from collections.abc import Sequence
from pathlib import Path

from archivebox.lib.processes.children import unreaped
from archivebox.lib.processes.ending import Kinship, ProcessGroup
from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.marks import mark_of, marked
from archivebox.lib.processes.platform import PORTABLE
from archivebox.lib.processes.process_info import ProcessInfo

if PORTABLE:
    from archivebox.lib.processes.portable import child_lookup, inspect
else:
    from archivebox.lib.processes.procfs import child_lookup, inspect


class Tree(ProcessGroup):
    """Everything that belongs to one started process.

    That is its descendants, and those reparented to one of ``reapers`` (or to an ancestor of ours) in a session or with
    a mark of it. ``root`` None: only what bears the mark.
    """

    def __init__(
        self, *, root: ProcessIdentity | None, process_id: str, data_dir: Path, reapers: Sequence[int] = ()
    ) -> None:
        super().__init__()
        self.root = root
        self.process_id = process_id
        self.data_dir = data_dir
        self.reapers = tuple(reapers)
        self._leads = False
        if root is not None:
            self.since = root.start_ticks
            self._leaders[root.pid] = root
            self._leads = self._owns_its_groups

    def members(self) -> set[ProcessIdentity]:
        found: dict[int, tuple[ProcessIdentity, ProcessInfo]] = {}
        self._dead, self._missed = set(), False
        children_of = child_lookup()
        if self.root is None or PORTABLE:
            bearers = marked(self.data_dir).items()
            self._walk((identity.pid for identity, mark in bearers if mark == self.process_id), found, children_of)
        if self.root is not None:
            if self.root.is_alive():
                self._walk([self.root.pid], found, children_of)
            self._walk(self._reparented(self.root, children_of), found, children_of)
        return self._living(found)

    def _reparented(self, root: ProcessIdentity, children_of: Kinship) -> list[int]:
        """Children of the reapers that belong here: in a session of the tree or with its mark, not older than it.

        Those that we have started ourselves are no orphans.
        """
        pids = {pid for reaper in self._all_reapers() for pid in children_of(reaper)}
        pids -= {root.pid, *(identity.pid for identity in unreaped())}
        return [pid for pid in pids if self._belongs(pid, root)]

    def _belongs(self, pid: int, root: ProcessIdentity) -> bool:
        seen = self._inspect(pid)
        if seen is None or seen.start_ticks < root.start_ticks:
            return False
        mark = mark_of(pid, self.data_dir)
        if mark == self.process_id:
            return True
        leader = self._leaders.get(seen.session)
        if leader is None:
            if mark is None:
                self._recheck(pid, seen)
            return False
        now = inspect(leader.pid)  # once reaped, its pid may have led a stranger's session: then a mark decides
        return mark is None if now is None else now.start_ticks == leader.start_ticks

    def _recheck(self, pid: int, before: ProcessInfo) -> None:
        """Who bears no mark may be a stranger, or have died before it was read: that one may have left a child too."""
        seen = self._inspect(pid)
        if seen is not None and (seen.zombie or seen.start_ticks != before.start_ticks):
            self._dead.add(ProcessIdentity.current().of_neighbour(pid, before.start_ticks))

    def _all_reapers(self) -> set[int]:
        """Who can have inherited an orphan: those named, and this process with its ancestors up to pid 1."""
        reapers = set(self.reapers)
        pid = os.getpid()
        while pid > 0 and pid not in reapers:
            reapers.add(pid)
            seen = inspect(pid)
            pid = seen.parent if seen is not None else 0
        return reapers | {1}

    @property
    def _owns_its_groups(self) -> bool:
        """Whether the root leads a session: then every process group of a member is within the tree."""
        seen = inspect(self.root.pid) if self.root is not None and self.root.is_alive() else None
        self._leads |= seen is not None and self.root is not None and seen.session == self.root.pid
        return self._leads
