"""Running the hooks of one object: what Snapshots and CrawlRuns have in common."""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from archivebox.config.resolve import SettingError
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.hooknames import LAST_STEP
from archivebox.contract.outcomes import Outcome, Status, could_not_start, failure
from archivebox.contract.reasons import Reason, split
from archivebox.contract.records import EndReason, Record
from archivebox.hooks import Call, lib_dir, prepare_hook
from archivebox.lib import processes
from archivebox.lib.processes import ProcessIdentity, Strays
from archivebox.machine.process import Process
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hook_process import HookProcess
from archivebox.workers.execute.hook_records import accepted, keep_offset, refuse_record, take_programs
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.execute.leftovers import end_leftover
from archivebox.workers.execute.machine_locks import acquire_machine_locks, of_machine, release_machine_locks
from archivebox.workers.execute.schedule import Planned, Schedule, WaitingFor
from archivebox.workers.execute.slots import Slot, SlotPool
from archivebox.workers.execute.tabs import Tab
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import folder_unusable, is_of_folder, misconfigured, put_aside

log = logging.getLogger(__name__)


class Executor(LeasedItem):
    """A leased object whose hooks this worker runs.

    Everything happens in :meth:`advance`, which is called after each event and does what can be done then: nothing in
    here waits. Subclasses say what an end means for their rows.
    """

    event: str

    def __init__(self, engine: Engine, lease: Lease, call: Call, schedule: Schedule) -> None:
        super().__init__(engine, lease)
        self.call = replace(call, binaries=engine.programs.paths, versions=engine.programs.versions)
        self.schedule = schedule
        self.process_ids: set[str] = set()
        self.ended_before: set[str] = set()
        """Marks of hooks of a worker that died; what they left behind came to the orchestrator."""
        self.adopted: list[HookProcess] = []
        self._by_run: dict[HookProcess, Planned] = {}
        self._machine_locks: dict[Planned, tuple[int, ...]] = {}
        self._wants_machine: dict[Planned, asyncio.Task[None]] = {}
        self._idle: asyncio.Future[None] | None = None
        self._leftovers: list[asyncio.Task[None]] = []
        self._advancing = False
        self._again = False

    def hooks(self) -> list[HookProcess]:
        return [item.run for item in self.schedule.planned if item.run is not None]

    # --- what subclasses say ----------------------------------------------------------------------------------

    @abstractmethod
    def work_of(self, item: Planned) -> dict[str, UUID]:
        """The columns by which a Process row names the work it served."""

    @abstractmethod
    def settle(self, item: Planned, result: Outcome, reason: str = "") -> None:
        """Put the outcome of a hook on record and set ``item.status``."""

    @abstractmethod
    def steps_are_over(self) -> None:
        """Every step is over; background hooks may still run. Called after each event from then on."""

    @abstractmethod
    def ingest_records(self, run: HookProcess, records: Sequence[Record]) -> bool:
        """Records a hook printed, other than of its own result; False: all of them are left out."""

    def before_step(self) -> None:
        """A step has begun."""

    def facts_pending(self, item: Planned) -> bool:
        """Whether it cannot be said yet if a hook applies."""
        del item
        return False

    def skip_reason(self, item: Planned) -> str | None:
        """The reason code by which a hook is skipped without a process; None: it applies."""
        del item
        return None

    def must_wait(self, item: Planned) -> bool:
        """Whether a hook whose turn it is has to wait for something that only this kind of object knows."""
        del item
        return False

    # --- the one loop -----------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Start what may start, go on to the next step when this one is over, and so on until nothing can be done."""
        if self._advancing or self.ending:
            self._again = True
            return
        self._advancing = True
        try:
            self._again = True
            while self._again and not self.over.done():
                self._again = False
                self._advance_once()
        except (OSError, SettingError) as error:
            self.fail(error)
        finally:
            self._advancing = False

    def fail(self, error: OSError | SettingError) -> None:
        """Its folder or a setting of it cannot be used: its failure alone. Any other error breaks the worker."""
        if isinstance(error, OSError) and not is_of_folder(error):
            raise error
        reason = folder_unusable(error) if isinstance(error, OSError) else misconfigured(error)
        log.warning("%s %s is put aside: %s action=put_aside", self.lease.model.__name__, self.lease.pk, error)
        if not self.ending:
            self.ending = True
            self.engine.in_background(self._put_aside(reason))

    async def _put_aside(self, reason: str) -> None:
        await self.end_everything(EndReason.SEALED, self.engine.stop_grace)
        await self.engine.journal.read(put_aside, self.lease, reason, self.engine.max_attempts)
        self.finish()

    def go_on(self) -> None:
        """Something has changed within a pass: another one follows it."""
        self._again = True

    def _advance_once(self) -> None:
        for item in self.schedule.may_start():  # one by one: to start one, or to open the page anew, bars others
            self._start(item)
        if not self.schedule.step_is_over():
            return
        if self.schedule.step < LAST_STEP:
            self.schedule.step += 1
            self.before_step()
            self._again = True
        else:
            self.steps_are_over()

    def _start(self, item: Planned) -> None:
        """Start one hook, or settle it without a process when it cannot run."""
        if item.waiting_for is WaitingFor.SLOT and self._is_still_full(item):
            return  # most tries of a busy worker end here
        if self.facts_pending(item):
            return
        pointless = self.call.settings.reason_to_skip(item.hook) or self.skip_reason(item)
        if pointless is not None:
            self.settle(item, Outcome(Status.SKIPPED, counts=False), pointless)
            self._again = True
            return
        missing = self._missing_program(item) if self.engine.disk.has_space() else WAIT
        item.waiting_for = WaitingFor.PROGRAM if missing == WAIT else None
        if item.waiting_for is not None or self.must_wait(item):
            return
        if not self._has_machine_locks(item) or not self._acquire_slot(item):
            item.waiting_for = WaitingFor.SLOT
            return
        if missing:
            self._release_slot(item)
            self.settle(item, could_not_start(Reason.MISSING_BINARY), Reason.MISSING_BINARY.of(missing))
            self._again = True
            return
        self.launch(item)

    def launch(self, item: Planned) -> None:
        run = HookProcess(self.engine, self, prepare_hook(item.hook, self.call), self.work_of(item))
        locks = self._machine_locks.pop(item, ())
        run.pass_fds = (*locks, item.slot.descriptor) if isinstance(item.slot, Tab) else locks
        self._take_on(item, run)
        started = False
        try:
            started = run.start()
        finally:
            release_machine_locks(locks)
            if not started:
                self._by_run.pop(run)  # nobody will tell of its end
        if started:
            self.expect_ready(item, run)
            return
        self._release_slot(item)
        is_of_disk = split(run.refusal)[0] is Reason.FOLDER_UNUSABLE
        self.settle(item, failure(Reason.FOLDER_UNUSABLE) if is_of_disk else could_not_start(), run.refusal)
        self._again = True

    def _take_on(self, item: Planned, run: HookProcess) -> None:
        item.run, item.status, item.late = run, "started", False
        self._by_run[run] = item
        self.process_ids.add(run.mark)
        self.hook_started(item, run)

    def hook_started(self, item: Planned, run: HookProcess) -> None:
        """A hook is about to be started."""

    def expect_ready(self, item: Planned, run: HookProcess) -> None:
        """Whoever waits for it does so no longer than it may take."""
        if item.hook.ready and not run.is_ready:
            self.engine.loop.call_later(self.engine.ready_time, self._is_late, item, run)

    def _is_late(self, item: Planned, run: HookProcess) -> None:
        if item.run is run and not item.is_ready:
            item.late = True
            self.advance()

    # --- programs, slots and resources -----------------------------------------------------------------------

    def _missing_program(self, item: Planned) -> str:
        """A program of its plugin that is not there; WAIT while one is still being looked for."""
        for request in (*self.wished_before(item), *self.call.of_plugin(item.hook).needed):
            status = self.engine.programs.status.get(request.name)
            if status is None:
                self.engine.want_program(request)
            if status not in _LOOKED_FOR:
                return WAIT
            if status == "failed" and not request.optional:
                return request.name
        return ""

    def wished_before(self, item: Planned) -> Iterable[BinaryRequest]:
        """Programs that earlier hooks have asked for in the name of this one; it does without where they are not."""
        del item
        return ()

    def _pool_for(self, item: Planned) -> SlotPool | None:
        if not item.hook.background:
            return self.engine.slots
        return self.engine.finite_slots if item.hook.finite else None

    def _is_still_full(self, item: Planned) -> bool:
        pool = self._pool_for(item)
        if pool is None or item.slot is not None or not pool.is_full:
            return False
        pool.notify_when_free(self.advance)
        return True

    def _acquire_slot(self, item: Planned) -> bool:
        pool = self._pool_for(item)
        if pool is None or item.slot is not None:
            return True
        item.slot = pool.acquire()
        if item.slot is None:
            pool.notify_when_free(self.advance)
            return False
        self._watch_slot(item.slot)
        return True

    def _watch_slot(self, slot: Slot) -> None:
        self.engine.long_held.add(slot, partial(self._make_late, slot))

    def _make_late(self, slot: Slot) -> None:
        """It has been held for long: the next one goes on beside it, or later, while there are too many late ones."""
        if not slot.become_late():
            self._watch_slot(slot)

    def let_others_in(self, item: Planned) -> None:
        """A hook waits for somebody else's server, and takes nothing of the machine: its place is for the next one."""
        self._release_slot(item)

    def _release_slot(self, item: Planned) -> None:
        if item.slot is not None:
            self.engine.long_held.discard(item.slot)
            item.slot.release()
            item.slot = None

    def _has_machine_locks(self, item: Planned) -> bool:
        """Whether the machine's resources that a hook wants are held for it; asks for them if not."""
        wanted = of_machine(item.hook.exclusive)
        if not wanted or item in self._machine_locks:
            return True
        if item not in self._wants_machine:
            self._wants_machine[item] = self.engine.in_background(self._acquire_machine_locks(item, wanted))
        return False

    async def _acquire_machine_locks(self, item: Planned, wanted: Sequence[str]) -> None:
        try:
            self._machine_locks[item] = await acquire_machine_locks(lib_dir(self.call.settings), wanted)
        except OSError as error:
            self.settle(item, could_not_start(), Reason.COULD_NOT_START.of(str(error)[:100]))
        del self._wants_machine[item]
        self.advance()

    def _release_machine_locks(self) -> None:
        for task in self._wants_machine.values():
            task.cancel()
        for descriptors in self._machine_locks.values():
            release_machine_locks(descriptors)
        self._machine_locks.clear()

    # --- what hooks tell --------------------------------------------------------------------------------------

    def hook_is_ready(self, run: HookProcess) -> None:
        del run
        self.advance()

    def hook_printed(self, run: HookProcess, records: list[Record]) -> bool:
        """Hand the records of one read to the database, together with the offset up to which they were read.

        False: it gets nothing, because all of them are left out. A hook may print a million more links than are taken.
        """
        records = accepted(run, records)
        reported = [record for record in records if record.type == "Process"]
        others = [record for record in records if record.type not in {"Process", "Ready", "Waiting"}]
        if any(record.type == "Waiting" for record in records):
            self.let_others_in(self._by_run[run])
        is_taken = self.ingest_records(run, others) if others else True
        if not is_taken and not reported:
            return False
        if reported:
            self.ingest(run, partial(take_programs, run.process_id), reported)
        self.engine.journal.effect(partial(keep_offset, run.process_id, run.offset, run.output.said), self.lease)
        return True

    def ingest(
        self,
        run: HookProcess,
        take: Callable[[Sequence[Record]], object],
        records: Sequence[Record],
        lease: Lease | None = None,
    ) -> None:
        """Have the database take records; what it refuses is the failure of the hook that printed them."""
        self.engine.journal.ingest(take, records, lease, on_refused=partial(self._database_refused, run))

    def _database_refused(self, run: HookProcess, problem: str) -> None:
        refuse_record(run, problem)
        for item in self.schedule.planned:
            if item.run is run and run not in self._by_run:
                self.settle_run(item, run)  # once more: it had ended before this was known

    def runs_in_folder_of(self, run: HookProcess) -> list[HookProcess]:
        runs = (item.run for item in self.schedule.planned if item.hook.plugin == run.hook.plugin)
        return [one for one in runs if one is not None]

    def hook_ended(self, run: HookProcess) -> None:
        item = self._by_run.pop(run)
        try:
            if item.run is run:
                self.settle_run(item, run)
        except OSError as error:
            self.fail(error)
        self._release_slot(item)
        if self._idle is not None and not self._by_run:
            self._idle.set_result(None)
            self._idle = None
        self.advance()

    @abstractmethod
    def settle_run(self, item: Planned, run: HookProcess) -> None:
        """A hook's process has ended: judge it."""

    # --- ending -----------------------------------------------------------------------------------------------

    def stop_background(self, items: Sequence[Planned], grace: float) -> None:
        """TERM to all of them at the same moment; each has what is left of its own time, at least ``grace``."""
        now = self.engine.loop.time()
        for item in items:
            if item.run is not None:
                left = 0.0 if item.hook.name.daemon else item.run.deadline - now
                item.run.stop(EndReason.SEALED, max(grace, left))

    async def end_everything(self, reason: EndReason, grace: float) -> None:
        """End every tree of this object, and wait until nothing of it is left; nothing is started any more."""
        self.ending = True
        self._release_machine_locks()
        for run in list(self._by_run):
            run.stop_within(reason, grace)
        if self._by_run:
            self._idle = self.engine.loop.create_future()
            await self._idle
        await self.end_orphans(grace)

    def end_leftovers(self, rows: Iterable[Process]) -> None:
        """End hooks of former holders that nobody goes on with; whatever ends this object waits for that."""
        self._leftovers += [self.engine.in_background(end_leftover(self.engine, row)) for row in rows]

    async def end_orphans(self, grace: float) -> None:
        """End what hooks of this object left behind: orphans come to this worker, which is a subreaper.

        Those of adopted hooks came to the orchestrator; their trees are looked for there.
        """
        self.engine.reap_orphans()
        ends = [run.tree().end(grace=grace) for run in self.adopted]
        if self._left_behind():
            ends.append(Strays(self._left_behind).end(grace=grace))
        await asyncio.gather(*ends, *self._leftovers)

    def _left_behind(self) -> list[ProcessIdentity]:
        """Where it may have come to others, or nobody is a subreaper, all that bear a mark are looked at."""
        if processes.PORTABLE or self.ended_before:
            marks: dict[ProcessIdentity, str | None] = dict(processes.marked(DATA_FOLDER.root))
        else:
            marks = {i: processes.mark_of(i.pid, DATA_FOLDER.root) for i in self.engine.orphans()}
        ours = self.process_ids | self.ended_before
        return [identity for identity, mark in marks.items() if mark in ours]


WAIT = "\0wait"
"""No program's name: one is still being looked for."""
_LOOKED_FOR = ("succeeded", "failed")
