"""Owns what the pages of one worker have shown of hosts: which keep a page waiting, and which have answered."""

from collections.abc import Iterable

from archivebox.contract.ordering import OUTPUT_STEP
from archivebox.workers.execute.snapshot_executor import SnapshotExecutor

MOST = 64
"""Hosts that have answered which are remembered, those of the latest pages."""


class HostsSeen:
    """Tells a worker that has slow hosts among its pages which pages to begin first."""

    def __init__(self) -> None:
        self.waited_for: frozenset[str] = frozenset()
        self._answered: dict[str, None] = {}

    @property
    def answered(self) -> tuple[str, ...]:
        """Hosts whose latest page was loaded without waiting for the server, the latest first."""
        return tuple(reversed(self._answered))

    def look_at(self, pages: Iterable[SnapshotExecutor]) -> None:
        """Learn from the pages that are at work now."""
        held = list(pages)
        self.waited_for = frozenset(each.snapshot.domain for each in held if each.page.waits_for_server)
        for each in held:
            if each.schedule.step >= OUTPUT_STEP:
                self._answered.pop(each.snapshot.domain, None)
                if not each.page.has_waited:
                    self._answered[each.snapshot.domain] = None
        for host in [*self.waited_for, *list(self._answered)[:-MOST]]:
            self._answered.pop(host, None)
