"""Owns what the pages of one worker have shown of hosts: which keep pages waiting, and which have answered."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from archivebox.contract.ordering import OUTPUT_STEP
from archivebox.workers.execute.page.executor import SnapshotExecutor

T = TypeVar("T")

MOST = 64
"""Hosts of each kind that are remembered, those of the latest pages."""
SLOW_FOR = 60.0
"""Seconds for which a host counts as slow that has kept a page waiting: to find that out anew costs a tab each time."""


class HostsSeen:
    """Tells a worker that has met slow hosts which pages to begin first."""

    def __init__(self) -> None:
        self._answered: dict[str, None] = {}
        self._waited_at: dict[str, float] = {}

    @property
    def answered(self) -> Sequence[str]:
        """Hosts whose latest page was loaded without waiting for the server, the latest first."""
        return tuple(reversed(self._answered))

    @property
    def slow(self) -> frozenset[str]:
        """Hosts whose latest page has waited for the server, now or a short while ago."""
        return frozenset(self._waited_at)

    def look_at(self, pages: Iterable[SnapshotExecutor], now: float) -> None:
        """Learn from the pages that are at work now, at this time of the loop."""
        held = list(pages)
        waited_for = {each.snapshot.domain for each in held if each.page.waits_for_server}
        for each in held:
            if each.schedule.step >= OUTPUT_STEP and not each.page.has_waited:
                _renew(self._answered, each.snapshot.domain, None)
                self._waited_at.pop(each.snapshot.domain, None)
        for each in held:
            if each.schedule.step >= OUTPUT_STEP and each.page.has_waited:
                self._answered.pop(each.snapshot.domain, None)
        for host in sorted(waited_for):
            self._answered.pop(host, None)
            _renew(self._waited_at, host, now)
        for host in [host for host, at in self._waited_at.items() if now - at > SLOW_FOR]:
            del self._waited_at[host]


def _renew(remembered: dict[str, T], host: str, value: T) -> None:
    """Remember a host as the latest, and forget the earliest beyond the most that are remembered."""
    remembered.pop(host, None)
    remembered[host] = value
    for oldest in list(remembered)[:-MOST]:
        del remembered[oldest]
