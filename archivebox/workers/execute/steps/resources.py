"""Owns what hooks of one object take while they run: a slot or a tab, and resources of the whole machine."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from archivebox.contract.outcomes import could_not_start
from archivebox.contract.reasons import Reason
from archivebox.hooks import lib_dir
from archivebox.workers.execute.capacity.machine_locks import acquire_machine_locks, of_machine, release_machine_locks
from archivebox.workers.execute.capacity.slots import Slot, SlotPool
from archivebox.workers.execute.steps.schedule import Planned

if TYPE_CHECKING:
    from archivebox.workers.execute.steps.executor import StepExecutor


class HookResources:
    """Slots, tabs and locks of the machine, by planned hook. ``tabs``: what a hook takes that opens the page."""

    def __init__(self, executor: "StepExecutor", tabs: SlotPool | None) -> None:
        self._executor = executor
        self._engine = executor.engine
        self._tabs = tabs
        self._machine_locks: dict[Planned, tuple[int, ...]] = {}
        self._wants_machine: dict[Planned, asyncio.Task[None]] = {}

    def acquire(self, item: Planned) -> bool:
        """Whether a hook has all that it takes; whoever has not is told when there may be more."""
        return self._has_machine_locks(item) and self._acquire_slot(item)

    def acquire_over_limit(self, item: Planned) -> None:
        """An adopted hook runs already, whatever there is."""
        pool = self._pool_for(item)
        item.slot = pool.acquire_over_limit() if pool is not None else None

    def release(self, item: Planned) -> None:
        """Give back its slot or tab; a hook has inherited the locks of the machine, and holds them until its end."""
        if item.slot is not None:
            self._engine.long_held.discard(item.slot)
            item.slot.release()
            item.slot = None

    # --- slots and tabs ---------------------------------------------------------------------------------------

    def _pool_for(self, item: Planned) -> SlotPool | None:
        if self._tabs is not None and item.hook.opens_page:
            return self._tabs
        if not item.hook.background:
            return self._engine.slots
        return self._engine.finite_slots if item.hook.finite else None

    def is_still_full(self, item: Planned) -> bool:
        pool = self._pool_for(item)
        if pool is None or item.slot is not None or not pool.is_full:
            return False
        pool.notify_when_free(self._executor.leased.advance)
        return True

    def _acquire_slot(self, item: Planned) -> bool:
        pool = self._pool_for(item)
        if pool is None or item.slot is not None:
            return True
        item.slot = pool.acquire()
        if item.slot is None:
            pool.notify_when_free(self._executor.leased.advance)
            return False
        self.watch_slot(item.slot)
        return True

    def watch_slot(self, slot: Slot) -> None:
        self._engine.long_held.add(slot, partial(self._make_late, slot))

    def _make_late(self, slot: Slot) -> None:
        """It has been held for long: the next one goes on beside it, or later, while there are too many late ones."""
        if not slot.become_late():
            self.watch_slot(slot)

    # --- resources of the machine -----------------------------------------------------------------------------

    def _has_machine_locks(self, item: Planned) -> bool:
        """Whether the machine's resources that a hook wants are held for it; asks for them if not."""
        wanted = of_machine(item.hook.exclusive)
        if not wanted or item in self._machine_locks:
            return True
        if item not in self._wants_machine:
            self._wants_machine[item] = self._engine.in_background(self._acquire_machine_locks(item, wanted))
        return False

    async def _acquire_machine_locks(self, item: Planned, wanted: Sequence[str]) -> None:
        try:
            self._machine_locks[item] = await acquire_machine_locks(lib_dir(self._executor.call.settings), wanted)
        except OSError as error:
            refusal = Reason.COULD_NOT_START.of(str(error)[:100])
            self._executor.results.settle(item, could_not_start(), refusal)
        del self._wants_machine[item]
        self._executor.leased.advance()

    def acquire_machine_locks(self, item: Planned) -> tuple[int, ...]:
        """The locked descriptors that a hook is to inherit; whoever starts it closes ours."""
        return self._machine_locks.pop(item, ())

    def release_machine_locks(self) -> None:
        for task in self._wants_machine.values():
            task.cancel()
        for descriptors in self._machine_locks.values():
            release_machine_locks(descriptors)
        self._machine_locks.clear()
