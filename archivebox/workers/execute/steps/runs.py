"""Owns the processes of one object's hooks: started or adopted, listened to, and ended with all that they left."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.hook import READY_TIME
from archivebox.contract.outcomes import could_not_start, failure
from archivebox.contract.reasons import Reason, split
from archivebox.contract.records import EndReason, Record
from archivebox.hooks import prepare_hook
from archivebox.lib import processes
from archivebox.lib.processes import UNSEEN, ProcessIdentity, StrayProcesses
from archivebox.machine.process import Process
from archivebox.machine.process_row import exited_columns
from archivebox.workers.execute.capacity.machine_locks import release_machine_locks
from archivebox.workers.execute.capacity.tabs import Tab
from archivebox.workers.execute.hooks.heartbeat import needs_heartbeat, remove_heartbeat, write_heartbeat
from archivebox.workers.execute.hooks.leftovers import end_leftover
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.hooks.records import accepted, keep_offset, refuse_record, store_programs
from archivebox.workers.execute.hooks.warm_hook import WarmHook
from archivebox.workers.execute.steps.schedule import Planned
from archivebox.workers.queue.lease import Lease

if TYPE_CHECKING:
    from archivebox.workers.execute.steps.executor import StepExecutor


class HookRuns:
    """The runs of an object's planned hooks in this worker's hands, told of everything that happens to them."""

    def __init__(self, executor: "StepExecutor") -> None:
        self._executor = executor
        self._engine = executor.engine
        self.lease = executor.lease
        self.warm: WarmHook | None = None
        """What was started ahead for one of the hooks, until that is launched."""
        self.marks: set[str] = set()
        self.ended_before: set[str] = set()
        """Marks of hooks of a worker that died; what they left behind came to the orchestrator."""
        self.unjudged: set[HookProcess] = set()
        """Runs that ended while no worker had them."""
        self._adopted: list[HookProcess] = []
        self._by_run: dict[HookProcess, Planned] = {}
        self._idle: asyncio.Future[None] | None = None
        self._leftovers: list[asyncio.Task[None]] = []

    @property
    def latest(self) -> list[HookProcess]:
        """The last run of each hook that has one, ended or not."""
        return [item.run for item in self._executor.schedule.planned if item.run is not None]

    # --- beginning --------------------------------------------------------------------------------------------

    def _make(self, item: Planned, process_id: UUID | None = None) -> HookProcess:
        executor = self._executor
        call = prepare_hook(item.hook, executor.call)
        return HookProcess(self._engine, self, call, executor.rules.work_of(item), process_id)

    def launch(self, item: Planned) -> None:
        """Start a hook; one that cannot be started is settled, and gives back what it had taken."""
        warm = self.warm
        if warm is None or warm.call.hook != item.hook or warm.ended.done():
            run = self._make(item)
        else:
            run = self._make(item, warm.process_id)
            run.warm, self.warm = warm, None
        locks = self._executor.resources.acquire_machine_locks(item)
        run.pass_fds = (*locks, item.slot.descriptor) if isinstance(item.slot, Tab) else locks
        self._assign(item, run)
        started = False
        try:
            self._executor.results.hook_started(item, run)
            started = run.start()
        finally:
            release_machine_locks(locks)
            if not started:
                self._remove(run)  # nobody will tell of its end
        if started:
            self._expect_ready(item, run)
            return
        self._executor.resources.release(item)
        is_of_disk = split(run.refusal)[0] is Reason.FOLDER_UNUSABLE
        result = failure(Reason.FOLDER_UNUSABLE) if is_of_disk else could_not_start()
        self._executor.results.settle(item, result, run.refusal)
        self._executor.go_on()

    def adopt(self, item: Planned, row: Process) -> bool:
        """Go on with a hook that an earlier worker started; False when it does not run any more."""
        run = self._make(item, row.pk)
        if row.status != Process.StatusChoices.RUNNING or not run.adopt(row):
            return False
        self._assign(item, run)
        if run.ended_unwatched:
            self.unjudged.add(run)
        self._adopted.append(run)
        self._executor.resources.acquire_over_limit(item)
        self._expect_ready(item, run)
        return True

    def recall(self, item: Planned, row: Process) -> None:
        """Judge a hook that ended while no worker had it, by what it left."""
        run = self._make(item, row.pk)
        self._assign(item, run)
        if row.status != Process.StatusChoices.EXITED:
            self._engine.journal.update(Process, row.pk, exited_columns(UNSEEN))
        self.unjudged.add(run)
        run.recall(row)

    def _assign(self, item: Planned, run: HookProcess) -> None:
        """From here on a run is that of its hook, which is told of its end."""
        item.run, item.status, item.late = run, "started", False
        self._by_run[run] = item
        self.marks.add(run.row.mark)
        if needs_heartbeat(item.hook):
            write_heartbeat(self._executor.call.object_dir)

    def _remove(self, run: HookProcess) -> Planned:
        """From here on it is not told of anything; the last that may hold a browser takes the heartbeat with it."""
        item = self._by_run.pop(run)
        if needs_heartbeat(item.hook) and not any(needs_heartbeat(other.hook) for other in self._by_run.values()):
            remove_heartbeat(self._executor.call.object_dir)
        return item

    def _expect_ready(self, item: Planned, run: HookProcess) -> None:
        """Whoever waits for it does so no longer than it may take."""
        if item.hook.ready and not run.is_ready:
            self._engine.loop.call_later(READY_TIME, self._is_late, item, run)

    def _is_late(self, item: Planned, run: HookProcess) -> None:
        if item.run is run and not item.is_ready:
            item.late = True
            self._executor.leased.advance()

    # --- what hooks tell --------------------------------------------------------------------------------------

    def hook_is_ready(self, run: HookProcess) -> None:
        del run
        self._executor.leased.advance()

    def hook_printed(self, run: HookProcess, records: list[Record]) -> bool:
        """Hand the records of one read to the database, together with the offset up to which they were read.

        False: it gets nothing, because all of them are left out. A hook may print a million more links than are taken.
        """
        records = accepted(run, records)
        reported = [record for record in records if record.type == "Process"]
        others = [record for record in records if record.type not in {"Process", "Ready", "Waiting"}]
        if any(record.type == "Waiting" for record in records):
            self._executor.resources.release(self._by_run[run])
            self._executor.rules.on_hook_waiting(self._by_run[run])
        is_taken = self._executor.rules.ingest_records(run, others) if others else True
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
        for item in self._executor.schedule.planned:
            if item.run is run and run not in self._by_run:
                self._executor.results.settle_run(item, run)  # once more: it had ended before this was known

    def runs_in_folder_of(self, run: HookProcess) -> list[HookProcess]:
        return [one for one in self.latest if one.hook.plugin == run.hook.plugin]

    def hook_ended(self, run: HookProcess) -> None:
        item = self._remove(run)
        try:
            if item.run is run:
                self._executor.results.settle_run(item, run)
        except OSError as error:
            self._executor.fail(error)
        self.unjudged.discard(run)
        self._executor.resources.release(item)
        if self._idle is not None and not self._by_run:
            self._idle.set_result(None)
            self._idle = None
        self._executor.leased.advance()

    # --- ending -----------------------------------------------------------------------------------------------

    def stop_background(self, items: Sequence[Planned], grace: float) -> None:
        """TERM to all of them at the same moment; each has what is left of its own time, at least ``grace``."""
        now = self._engine.loop.time()
        for item in items:
            if item.run is not None:
                left = 0.0 if item.hook.name.daemon else item.run.deadline - now
                item.run.stop(EndReason.SEALED, max(grace, left))

    async def end_all(self, reason: EndReason, grace: float) -> None:
        """End every tree that runs, and wait for the last of them."""
        for run in list(self._by_run):
            run.stop_within(reason, grace)
        await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        if self._by_run:
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
