"""Which hooks of one object may start now: steps, order, readiness, `after` and exclusive resources.

The rules of the contract's chapter on timing, without processes or rows: it is told what happened and says what may
start. It never waits and never polls; whoever holds it asks again after each event.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

from archivebox.contract.hook import Hook
from archivebox.contract.ordering import Waits, waits
from archivebox.workers.execute.hook_process import HookProcess

log = logging.getLogger(__name__)

SETTLED = frozenset({"succeeded", "noresults", "failed", "skipped", "backoff"})
"""Final, or waiting for a retry that does not hold up this pass."""


@dataclass(slots=True, eq=False)
class Planned:
    """One hook in the plan of one object, and what has become of it."""

    hook: Hook
    step: int = field(init=False)
    status: str = "queued"
    result_id: UUID | None = None
    attempts: int = 0
    run: HookProcess | None = None
    replay: bool = False
    """Run again for its effect on the live page alone; its result is final and stays as it is."""
    settled_as: str = ""
    """The result's own status while the hook is replayed."""
    slot: bool = False
    late: bool = False
    """Its ready time is over; nobody waits for it any longer."""

    def __post_init__(self) -> None:
        self.step = self.hook.step

    @property
    def is_queued(self) -> bool:
        return self.status == "queued"

    @property
    def is_running(self) -> bool:
        return self.run is not None and not self.run.ended

    @property
    def is_settled(self) -> bool:
        return self.status in SETTLED

    @property
    def is_ready(self) -> bool:
        """Whether others may rely on it, or need not wait for it any more."""
        return self.is_settled or self.late or (self.run is not None and (self.run.is_ready or self.run.ended))

    @property
    def is_expected(self) -> bool:
        """Whether it is about to run, or has run, for this object."""
        return self.is_queued or self.run is not None

    @property
    def is_over(self) -> bool:
        """Whether those that are ``after`` it may start."""
        return self.is_ready if self.hook.ready else self.is_settled


class Schedule:
    """The plan of one object (Snapshot, CrawlRun): its hooks in file-name order, and the step it is in."""

    def __init__(self, planned: Iterable[Planned], step: int = 0) -> None:
        self.planned = sorted(planned, key=lambda item: item.hook.sort_key)
        self.step = step
        self._exclusive = [item for item in self.planned if item.hook.exclusive]
        order = _order(tuple(item.hook for item in self.planned))
        item_of = {item.hook: item for item in self.planned}
        self._after = {item_of[hook]: [item_of[one] for one in ones] for hook, ones in order.after.items()}
        self._ready = {item_of[hook]: [item_of[one] for one in ones] for hook, ones in order.ready.items()}

    def may_start(self) -> Iterator[Planned]:
        """Queued hooks of this and earlier steps whose turn it is; ask again after starting some of them."""
        claimed = {name for item in self._exclusive if item.is_running for name in item.hook.exclusive}
        for item in self.planned:
            if item.step > self.step:
                return
            if item.status != "queued":
                continue
            if claimed.isdisjoint(item.hook.exclusive) and self._is_unblocked(item):
                yield item
            # Holders of one resource go in file-name order: who waits for it keeps those behind from it.
            claimed.update(item.hook.exclusive)

    def _is_unblocked(self, item: Planned) -> bool:
        if not all(other.is_over for other in self._after.get(item, ())):
            return False
        return all(other.is_ready or not other.is_expected for other in self._ready.get(item, ()))

    def step_is_over(self) -> bool:
        """Whether every foreground hook up to this step is final or in back-off."""
        for item in self.planned:
            if item.step > self.step:
                return True
            if item.status in SETTLED:
                continue
            if not item.hook.background or (item.status == "queued" and not item.hook.finite):
                return False
        return True

    def made_from(self, item: Planned) -> list[Planned]:
        """What a derived hook is made from: the hooks of the plugins that it names, or all that are not derived."""
        if item.hook.sources:
            return [other for other in self.planned if other.hook.plugin in item.hook.sources]
        return [other for other in self.planned if not other.hook.derived]

    def running(self) -> list[Planned]:
        return [item for item in self.planned if item.is_running]

    def session_hooks(self) -> list[Planned]:
        return [item for item in self.planned if item.hook.session]


@lru_cache(maxsize=16)
def _order(hooks: tuple[Hook, ...]) -> Waits:
    """Who waits for whom: worked out, and what had to be ignored told, once for each set of hooks."""
    order = waits(hooks)
    for warning in order.warnings:
        log.warning("%s action=after_ignored", warning)
    return order
