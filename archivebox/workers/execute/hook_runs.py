"""A leased object whose hooks run by a plan, and their processes: started or adopted, listened to, and ended.

:class:`PlannedItem` is the loop that asks the plan what is to be done, does it, and says what came of it;
:class:`HookRuns` has the processes, with the slots, tabs and locks of the machine that they hold.
"""

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
from archivebox.contract.hook import READY_TIME, Hook
from archivebox.contract.outcomes import could_not_start, failure
from archivebox.contract.reasons import Reason, split
from archivebox.contract.records import EndReason, Record
from archivebox.hooks import Call, lib_dir, prepare_hook
from archivebox.lib import processes
from archivebox.lib.processes import UNSEEN, ProcessIdentity, StrayProcesses
from archivebox.machine.process import Process
from archivebox.machine.process_row import exited_columns
from archivebox.workers.execute.capacity.machine_locks import acquire_machine_locks, of_machine, release_machine_locks
from archivebox.workers.execute.capacity.slots import Slot, SlotPool
from archivebox.workers.execute.capacity.tabs import Tab
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hook_plan import HookPlan
from archivebox.workers.execute.hooks.heartbeat import needs_heartbeat, remove_heartbeat, write_heartbeat
from archivebox.workers.execute.hooks.orphans import end_leftover
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.hooks.records import accepted, keep_offset, refuse_record, store_programs
from archivebox.workers.execute.hooks.warm_hook import WarmHook
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.execute.plan_events import (
    Action,
    AwaitProgram,
    Done,
    Event,
    Happened,
    NotDone,
    NotStarted,
    Planned,
    ProgramsKnown,
    Settle,
    Settled,
    Sign,
    Start,
    Started,
    Stop,
    WaitingFor,
)
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import end_with_reason, folder_unusable, is_of_folder, misconfigured

log = logging.getLogger(__name__)


class HookRuns:
    """The runs of an object's planned hooks in this worker's hands, told of everything that happens to them.

    ``work``: the columns by which a Process row names the work it served. ``tabs``: what a hook takes that opens the
    page.
    """

    def __init__(
        self,
        owner: "PlannedItem",
        engine: Engine,
        lease: Lease,
        call: Call,
        *,
        work: dict[str, UUID],
        tabs: SlotPool | None = None,
    ) -> None:
        self._owner, self._engine, self.lease, self.call = owner, engine, lease, call
        self._work, self._tabs = work, tabs
        self.warm: WarmHook | None = None
        """What was started ahead for one of the hooks, until that is launched."""
        self.marks: set[str] = set()
        self.ended_before: set[str] = set()
        """Marks of hooks of a worker that died; what they left behind came to the orchestrator."""
        self.of: dict[Planned, HookProcess] = {}
        """The last run of each hook that had one."""
        self.slots: dict[Planned, Slot] = {}
        self._machine_locks: dict[Planned, tuple[int, ...]] = {}
        self._wants_machine: dict[Planned, asyncio.Task[None]] = {}
        self._adopted: list[HookProcess] = []
        self.by_run: dict[HookProcess, Planned] = {}
        """The hook of each run that has not ended."""
        self._idle: asyncio.Future[None] | None = None
        self._leftovers: list[asyncio.Task[None]] = []

    def latest(self) -> list[HookProcess]:
        """The last run of each hook that has one and is not queued again, ended or not; none of those of its end."""
        return [run for item, run in self.of.items() if item.has_run or run in self.by_run]

    # --- slots, tabs and locks of the machine -----------------------------------------------------------------

    def acquire(self, item: Planned) -> bool:
        """Whether a hook has all that it takes; otherwise its object is told when there may be more."""
        return self._has_machine_locks(item) and self._acquire_slot(item)

    def release(self, item: Planned) -> None:
        """Give back its slot or tab; a hook has inherited the locks of the machine, and holds them until its end."""
        if slot := self.slots.pop(item, None):
            self._engine.long_held.discard(slot)
            slot.release()

    def _pool_for(self, item: Planned) -> SlotPool | None:
        if self._tabs is not None and item.hook.opens_page:
            return self._tabs
        if not item.hook.background:
            return self._engine.slots
        return self._engine.finite_slots if item.hook.finite else None

    def _acquire_slot(self, item: Planned) -> bool:
        pool = self._pool_for(item)
        if pool is None or item in self.slots:
            return True
        slot = None if pool.is_full else pool.acquire()
        if slot is None:
            pool.notify_when_free(self.on_place_free)
            return False
        self.slots[item] = slot
        self.watch_slot(slot)
        return True

    def on_place_free(self) -> None:
        """Whoever waits for a slot or tab is told by this; a pool knows it by its name and object."""
        self._note_and_advance(Happened(Sign.PLACE_FREE))

    def _note_and_advance(self, event: Event) -> None:
        self._owner.note(event)
        self._owner.advance()

    def watch_slot(self, slot: Slot) -> None:
        """Have the next one go on beside it, or later while there are too many late ones, once it was held for long."""
        self._engine.long_held.add(slot, partial(self._make_late, slot))

    def _make_late(self, slot: Slot) -> None:
        if not slot.become_late():
            self.watch_slot(slot)

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
            self._machine_locks[item] = await acquire_machine_locks(lib_dir(self.call.settings), wanted)
        except OSError as error:
            self._owner.locks_failed(item, error)
        del self._wants_machine[item]
        self.on_place_free()

    def release_machine_locks(self) -> None:
        """Nothing starts any more."""
        for task in self._wants_machine.values():
            task.cancel()
        for descriptors in self._machine_locks.values():
            release_machine_locks(descriptors)
        self._machine_locks.clear()

    # --- beginning --------------------------------------------------------------------------------------------

    def _make(self, item: Planned, process_id: UUID | None = None) -> HookProcess:
        call = prepare_hook(item.hook, self.call)
        work = self._work | ({"archiveresult_id": item.result_id} if item.result_id is not None else {})
        return HookProcess(self._engine, self, call, work, process_id)

    def launch(self, action: Start, before: Callable[[HookProcess], None]) -> Started | None:
        """Start a hook, after ``before``; one that cannot be started gives back what it had taken: None."""
        item, warm = action.item, self.warm
        if warm is None or warm.call.hook != item.hook or warm.ended.done():
            run = self._make(item)
        else:
            run = self._make(item, warm.process_id)
            run.warm, self.warm = warm, None
        locks, slot = self._machine_locks.pop(item, ()), self.slots.get(item)
        run.pass_fds = (*locks, slot.descriptor) if isinstance(slot, Tab) else locks
        self._assign(item, run)
        started = False
        try:
            before(run)
            started = run.start()
        finally:
            release_machine_locks(locks)
            if not started:
                self._remove(run)  # nobody will tell of its end
        if not started:
            self.release(item)
            return None
        self._expect_ready(item, run)
        return Started(item, run.row.started_at)

    def resume_run(self, item: Planned, row: Process, *, is_judged: bool = True) -> Started | None:
        """Go on with a hook that an earlier worker started.

        One that does not run any more is judged by what it left; where nobody judges it, None.
        """
        run = self._make(item, row.pk)
        if row.status == Process.StatusChoices.RUNNING and run.adopt(row):
            self._assign(item, run)
            self._adopted.append(run)
            pool = self._pool_for(item)
            if pool is not None and (slot := pool.acquire_over_limit()):  # it runs already, whatever there is
                self.slots[item] = slot
            self._expect_ready(item, run)
        elif is_judged:
            run = self._make(item, row.pk)
            self._assign(item, run)
            if row.status != Process.StatusChoices.EXITED:
                self._engine.journal.update(Process, row.pk, exited_columns(UNSEEN))
            run.recall(row)
        else:
            return None
        return Started(item, run.row.started_at, run.is_ready, run.ended_unwatched, run.row.ended_at)

    def _assign(self, item: Planned, run: HookProcess) -> None:
        """From here on a run is that of its hook, which is told of its end."""
        self.of[item], self.by_run[run] = run, item
        self.marks.add(run.row.mark)
        if needs_heartbeat(item.hook):
            write_heartbeat(self.call.object_dir)

    def _remove(self, run: HookProcess) -> Planned:
        """From here on it is not told of anything; the last that may hold a browser takes the heartbeat with it."""
        item = self.by_run.pop(run)
        if needs_heartbeat(item.hook) and not any(needs_heartbeat(other.hook) for other in self.by_run.values()):
            remove_heartbeat(self.call.object_dir)
        return item

    def _expect_ready(self, item: Planned, run: HookProcess) -> None:
        """Whoever waits for it does so no longer than it may take."""
        if item.hook.ready and not run.is_ready:
            self._engine.loop.call_later(READY_TIME, self._is_late, item, run)

    def _is_late(self, item: Planned, run: HookProcess) -> None:
        if self.is_current(item, run) and not item.is_ready:
            self._note_and_advance(Happened(Sign.LATE, item))

    def is_current(self, item: Planned, run: HookProcess) -> bool:
        """Whether a run is the one that its hook's result is made from."""
        return self.of.get(item) is run and item.has_run

    # --- what hooks tell --------------------------------------------------------------------------------------

    def hook_is_ready(self, run: HookProcess) -> None:
        self._note_and_advance(Happened(Sign.READY, self.by_run[run]))

    def hook_printed(self, run: HookProcess, records: list[Record]) -> bool:
        """Hand the records of one read to the database, together with the offset up to which they were read.

        False: it gets nothing, because all of them are left out. A hook may print a million more links than are taken.
        """
        records = accepted(run, records)
        reported = [record for record in records if record.type == "Process"]
        others = [record for record in records if record.type not in {"Process", "Ready", "Waiting"}]
        if any(record.type == "Waiting" for record in records):
            self.release(self.by_run[run])
            self._note_and_advance(Happened(Sign.WAITING, self.by_run[run]))
        is_taken = self._owner.ingest_records(run, others) if others else True
        if not is_taken and not reported:
            return False
        if reported:
            self.ingest(run, partial(store_programs, run.row.process_id), reported)
        self._engine.journal.effect(
            partial(keep_offset, run.row.process_id, run.output.offset, run.output.said), self.lease
        )
        return True

    def ingest(
        self,
        run: HookProcess,
        apply: Callable[[Sequence[Record]], object],
        records: Sequence[Record],
        lease: Lease | None = None,
    ) -> None:
        """Have the database take records; what it refuses is the failure of the hook that printed them."""
        self._engine.journal.ingest(apply, records, lease, on_refused=partial(self._database_refused, run))

    def _database_refused(self, run: HookProcess, problem: str) -> None:
        refuse_record(run, problem)
        for item in list(self.of):
            if self.is_current(item, run) and run not in self.by_run:
                self._owner.note_end(item, run)  # once more: it had ended before this was known
                self._owner.advance()

    def runs_in_folder_of(self, run: HookProcess) -> list[HookProcess]:
        return [one for one in self.latest() if one.hook.plugin == run.hook.plugin]

    def hook_exited(self, run: HookProcess) -> None:
        self._owner.note(Happened(Sign.EXITED, self.by_run[run]))

    def hook_ended(self, run: HookProcess) -> None:
        item = self._remove(run)
        if self.is_current(item, run):
            self._owner.note_end(item, run)
        self.release(item)
        if self._idle is not None and not self.by_run:
            self._idle.set_result(None)
            self._idle = None
        self._owner.advance()

    # --- ending -----------------------------------------------------------------------------------------------

    def stop(self, action: Stop) -> None:
        """TERM to all of them at the same moment; each has what is left of its own time, at least SEAL_GRACE."""
        now = self._engine.loop.time()
        for item in action.items:
            run = self.of[item]
            left = 0.0 if item.hook.name.daemon else run.deadline - now
            run.stop(EndReason.SEALED, max(self._engine.seal_grace, left))
            if action.frees_tab:
                self.release(item)  # the next tab may open while this one closes

    async def end_all(self, reason: EndReason, grace: float) -> None:
        """End every tree that runs, and wait for the last of them."""
        for run in list(self.by_run):
            run.stop_within(reason, grace)
        await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        if self.by_run:
            self._idle = self._idle or self._engine.loop.create_future()  # a shutdown may wait beside another ending
            await asyncio.shield(self._idle)

    def end_leftovers(self, rows: Iterable[Process]) -> None:
        """End hooks of former holders that nobody goes on with; whatever ends this object waits for that."""
        self._leftovers += [self._engine.in_background(end_leftover(self._engine, row)) for row in rows]

    async def end_orphans(self, grace: float) -> None:
        """End what hooks of this object left behind: orphans come to this worker, which is a subreaper.

        Those of adopted hooks came to the orchestrator; their trees are looked for there.
        """
        self._engine.reap_orphans()
        ends = [run.tree().end(grace=grace) for run in self._adopted]
        if self._left_behind():
            ends.append(StrayProcesses(self._left_behind).end(grace=grace))
        await asyncio.gather(*ends, *self._leftovers)

    def _left_behind(self) -> list[ProcessIdentity]:
        """Where it may have come to others, or nobody is a subreaper, all that bear a mark are looked at."""
        if processes.PORTABLE or self.ended_before:
            marks: dict[ProcessIdentity, str | None] = dict(processes.marked(DATA_FOLDER.root))
        else:
            marks = {i: processes.mark_of(i.pid, DATA_FOLDER.root) for i in self._engine.orphans()}
        ours = self.marks | self.ended_before
        return [identity for identity, mark in marks.items() if mark in ours]


class PlannedItem(LeasedItem):
    """A leased object whose hooks run by a plan.

    Everything happens in :meth:`advance`, which is called after each event and never waits.
    """

    plan: HookPlan

    def __init__(
        self, engine: Engine, lease: Lease, call: Call, work: dict[str, UUID], tabs: SlotPool | None = None
    ) -> None:
        super().__init__(engine, lease)
        self.call = replace(call, binaries=engine.programs.paths, versions=engine.programs.versions)
        self.runs = HookRuns(self, engine, lease, self.call, work=work, tabs=tabs)
        self.max_attempts = call.settings.get_int("MAX_ATTEMPTS")
        self.output_max = call.settings.get_int("HOOK_OUTPUT_MAX")
        self._is_advancing = False

    def needed(self, hook: Hook) -> Iterable[BinaryRequest]:
        """The programs that the plugin of a hook needs."""
        return self.call.of_plugin(hook).needed

    # --- the loop ---------------------------------------------------------------------------------------------

    def note(self, event: Event) -> None:
        self.plan.apply(event)

    def on_polled(self) -> None:
        """The worker has looked at its database: programs may be known by now, and there may be more places."""
        self.note(ProgramsKnown(dict(self.engine.programs.status)))
        self.advance()

    def advance(self) -> None:
        """Do what can be done now, until nothing more can be."""
        if self._is_advancing:
            return  # what was noted meanwhile is found by the pass that goes on
        self._is_advancing = True
        try:
            while actions := self._next_actions():
                self._perform(actions)
        except (OSError, SettingError) as error:  # of a question that looks at its folder or settings
            self.fail(error)
        finally:
            self._is_advancing = False

    def _next_actions(self) -> Sequence[Action]:
        """Of what another machine may have by now, only what has happened is put on record, where it still can be."""
        if self.ending or self.may_be_lost or self.over.done():
            return list(self.plan.decided)
        return self.plan.next_actions(self.engine.loop.time())

    def _perform(self, actions: Sequence[Action]) -> None:
        for action in actions:
            try:
                event = self.perform(action)
            except (OSError, SettingError) as error:
                self.fail(error)
                event = NotDone(action)
            self.note(event)
            if isinstance(event, NotDone) or (isinstance(action, Start) and isinstance(event, Settled)):
                return  # it may bar those behind it

    def perform(self, action: Action) -> Event:
        """Do one thing, and say what came of it."""
        match action:
            case Start(at_end=True):
                return self._launch(action)
            case Start(item=item):
                if not self.engine.disk.has_space():
                    return NotStarted(item, WaitingFor.PROGRAM)
                return self._launch(action) if self.runs.acquire(item) else NotStarted(item, WaitingFor.SLOT)
            case AwaitProgram(item=item, request=request):
                if request.name not in self.engine.programs.status:
                    self.engine.want_program(request)
                return NotStarted(item, WaitingFor.PROGRAM)
            case Settle():
                return self.settle(action)
            case Stop():
                self.runs.stop(action)
        return Done(action)

    def _launch(self, action: Start) -> Event:
        if started := self.runs.launch(action, partial(self.before_start, action.item)):
            return started
        refusal = self.runs.of[action.item].refusal
        is_of_disk = split(refusal)[0] is Reason.FOLDER_UNUSABLE
        result = failure(Reason.FOLDER_UNUSABLE) if is_of_disk else could_not_start()
        return self.settle(Settle(action.item, result, refusal))

    def locks_failed(self, item: Planned, error: OSError) -> None:
        self.note(self.settle(Settle(item, could_not_start(), Reason.COULD_NOT_START.of(str(error)[:100]))))

    def hooks(self) -> list[HookProcess]:
        return self.runs.latest()

    # --- what differs between kinds of objects ----------------------------------------------------------------

    def before_start(self, item: Planned, run: HookProcess) -> None:
        """A hook is about to be started."""

    @abstractmethod
    def settle(self, action: Settle) -> Settled:
        """Put the outcome of a hook on record."""

    @abstractmethod
    def note_end(self, item: Planned, run: HookProcess) -> None:
        """A hook's process has ended: judge it."""

    @abstractmethod
    def ingest_records(self, run: HookProcess, records: Sequence[Record]) -> bool:
        """Records a hook printed, other than of its own result; False: all of them are left out."""

    # --- ending -----------------------------------------------------------------------------------------------

    def begin_ending(self) -> None:
        super().begin_ending()
        self.note(Happened(Sign.LEAVING))

    def fail(self, error: OSError | SettingError) -> None:
        """Its folder or a setting of it cannot be used: its failure alone. Any other error breaks the worker."""
        if isinstance(error, OSError) and not is_of_folder(error):
            raise error
        reason = folder_unusable(error) if isinstance(error, OSError) else misconfigured(error)
        log.warning("%s %s is put aside: %s action=end_with_reason", self.lease.model.__name__, self.lease.pk, error)
        if not self.ending:
            self.begin_ending()
            self.engine.in_background(self._put_aside(reason))

    async def _put_aside(self, reason: str) -> None:
        await self.end_everything(EndReason.SEALED, self.engine.stop_grace)
        await self.engine.journal.read(end_with_reason, self.lease, reason, self.max_attempts)
        self.finish()

    async def end_everything(self, reason: EndReason, grace: float) -> None:
        """End every tree of this object, and wait until nothing of it is left; nothing is started any more."""
        self.begin_ending()
        self.runs.release_machine_locks()
        await self.runs.end_all(reason, grace)
        await self.runs.end_orphans(grace)
