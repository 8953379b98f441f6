"""Which hooks of one object may start now: steps, order, readiness, `after` and exclusive resources.

The rules of the contract's chapter on timing, without processes or rows: it is told what happened and says what may
start. It never waits and never polls; whoever holds it asks again after each event.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import lru_cache
from uuid import UUID

from archivebox.contract.hook import TAB, Hook
from archivebox.contract.ordering import OUTPUT_STEP, Waits, background_step, opening_step, waits
from archivebox.workers.execute.capacity.slots import Slot
from archivebox.workers.execute.hooks.process import HookProcess

log = logging.getLogger(__name__)

SETTLED = frozenset({"succeeded", "noresults", "failed", "skipped", "backoff"})
"""Final, or waiting for a retry that does not hold up this pass."""


class WaitingFor(Enum):
    """What a hook whose turn it is waits for."""

    PROGRAM = "a program that is being looked for"
    SLOT = "a place among the hooks at work, a tab, or a resource of the machine"


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
    """Run again for its effect on the live page; its result is final, and replaced when this run has ended."""
    final_status: str = ""
    """The result's own status while the hook is replayed."""
    slot: Slot | None = None
    waiting_for: WaitingFor | None = None
    reason: str = ""
    """Why it is settled as it is, as its row says."""
    recorded: str = "queued"
    """The status of its row, when all that the journal has is written."""
    retry_at: datetime | None = None
    """When it is tried again; None where this worker has not settled it so."""
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
    def has_exited(self) -> bool:
        """Whether its process has exited; what that left is ended, and its output read, before the run has ended."""
        return self.run is not None and self.run.row.status is not None

    @property
    def runs_until_stopped(self) -> bool:
        """Whether it runs until it is told to stop."""
        return self.hook.background and not self.hook.finite

    @property
    def may_use_page(self) -> bool:
        """Whether it may listen to the page without saying so, as a background hook does that knows no such word."""
        declared = self.hook.page or self.hook.session
        return self.runs_until_stopped and not declared and self.step <= OUTPUT_STEP

    @property
    def is_page_bound(self) -> bool:
        """Whether it has nothing to do before the page has come, though its name may say an earlier step."""
        return self.hook.page and self.hook.background and self.hook.finite and not self.hook.session

    @property
    def released_page(self) -> bool:
        """Whether it has said that it needs the live page no more, and goes on with what it took from there."""
        declared = self.hook.ready and self.hook.page and not self.hook.background
        return declared and self.run is not None and self.run.is_ready

    @property
    def holds(self) -> tuple[str, ...]:
        """What no other may use while it runs."""
        held = self.hook.exclusive
        return tuple(name for name in held if name != TAB) if self.released_page else held

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
        self._gates = [item for item in self.planned if item.hook.gate]
        self._exclusive = [item for item in self.planned if item.hook.exclusive]
        self.navigations = [item for item in self.planned if item.hook.is_navigation]
        self.first_navigations = [item for item in self.navigations if item.step == self.navigations[0].step]
        order = _order(tuple(item.hook for item in self.planned))
        item_of = {item.hook: item for item in self.planned}
        self._after = {item_of[hook]: [item_of[one] for one in ones] for hook, ones in order.after.items()}
        self._ready = {item_of[hook]: [item_of[one] for one in ones] for hook, ones in order.ready.items()}
        self._giving_way = {item_of[hook] for hook in order.giving_way}
        self._place()
        self._awaited = {one for item, ones in self._after.items() if not item.hook.derived for one in ones}

    def _place(self) -> None:
        """A hook of a late step that needs the page runs with the outputs, unless it waits for something later.

        One of an early step in the background starts with the page: not to wait for that as a process.
        """
        opening = opening_step(item.hook for item in self.planned)
        for item in self.planned:
            if item.hook.background:
                item.step = background_step(item.hook, opening)
            elif item.hook.page and item.step > OUTPUT_STEP:
                before = [*self._after.get(item, ()), *self._ready.get(item, ())]
                item.step = max((other.step for other in before if other.step > OUTPUT_STEP), default=OUTPUT_STEP)
        self.planned.sort(key=lambda item: (item.step, item.hook.sort_key))

    def failed_gate(self, item: Planned) -> Planned | None:
        """What stands before a hook and has found that nothing after it is to start; None: it is let through."""
        before = (gate for gate in self._gates if gate.hook.sort_key < item.hook.sort_key)
        return next((gate for gate in before if gate.status in {"failed", "backoff"}), None)

    def may_start(self) -> Iterator[Planned]:
        """Queued hooks of this and earlier steps whose turn it is; ask again after starting some of them."""
        claimed = {name for item in self._exclusive if item.is_running for name in item.holds}
        for item in self.planned:
            if item.step > self.step:
                return
            if item.status != "queued":
                continue
            unblocked = self._is_unblocked(item)
            if unblocked and claimed.isdisjoint(item.hook.exclusive):
                yield item
            # Holders of one resource go in file-name order: who waits for it keeps those behind from it.
            if unblocked or item not in self._giving_way:
                claimed.update(item.hook.exclusive)

    def _is_unblocked(self, item: Planned) -> bool:
        if item.hook.derived and not self._sources_are_final(item):
            return False
        if not all(other.is_over for other in self._after.get(item, ())):
            return False
        if item.is_page_bound and not all(other.is_settled for other in self.first_navigations):
            return False
        return all(other.is_ready or not other.is_expected for other in self._ready.get(item, ()))

    def _sources_are_final(self, item: Planned) -> bool:
        """Whether what a derived hook is made from is; downloads are not waited for: it is made again after them.

        Nor is what comes after it, where a hook that is not derived waits for it.
        """
        held_up = item in self._awaited
        return all(
            one.is_settled or (one.hook.background and one.hook.finite) or (held_up and one.step >= item.step)
            for one in self.sources_of(item)
        )

    def step_is_over(self) -> bool:
        """Whether every foreground hook up to this step is final or in back-off; what is derived holds up none."""
        for item in self.planned:
            if item.step > self.step:
                return True
            if item.status in SETTLED or item.hook.derived:
                continue
            if not item.hook.background or (item.status == "queued" and not item.hook.finite):
                return False
        return True

    def sources_of(self, item: Planned) -> list[Planned]:
        """What a derived hook is made from: the hooks of the plugins that it names, or all but those derived later."""
        if item.hook.sources:
            return [other for other in self.planned if other.hook.plugin in item.hook.sources]
        key = item.hook.sort_key
        return [other for other in self.planned if not other.hook.derived or other.hook.sort_key < key]

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
