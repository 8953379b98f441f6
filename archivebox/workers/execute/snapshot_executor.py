"""A Snapshot in the hands of its worker, from step 0 to its seal."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.utils import timezone

from archivebox.contract.outcomes import CUT_OFF, Ending, Outcome, Status, outcome
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason, Record
from archivebox.core.archiveresult import ArchiveResult, ending_of, output_columns, settled_columns
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.hooks import discover_hooks, learn_finite, prepare_hook
from archivebox.machine.process import Process
from archivebox.storage.layout import HOOK_RUNS
from archivebox.workers.execute.durability import make_durable
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.executor import Executor
from archivebox.workers.execute.hook_process import HookProcess
from archivebox.workers.execute.schedule import Planned, Schedule
from archivebox.workers.execute.snapshot_rows import Loaded, put_down, seal, take_records
from archivebox.workers.queue.lease import Lease

log = logging.getLogger(__name__)

SYNC_AGAIN = 5.0
"""Seconds until files are synced again that could not be."""
MOST_SESSIONS = 3
"""How often the live page of one Snapshot is opened again within one lease before its hooks are told there is none."""


class Phase(Enum):
    """How far a Snapshot has come after its last step."""

    STEPS = "steps"
    STOPPING = "stopping"
    CLOSING_PAGE = "closing the page"
    FINISHING = "only downloads are left"
    DERIVING = "deriving"
    ENDING = "running on_SnapshotEnd hooks"
    SEALING = "sealing"


class SnapshotExecutor(Executor):
    """Runs one hook per ArchiveResult, step by step, and seals the Snapshot."""

    event = "Snapshot"

    def __init__(self, engine: Engine, lease: Lease, loaded: Loaded) -> None:
        super().__init__(engine, lease, loaded.call, Schedule(loaded.planned, loaded.step))
        self.snapshot = loaded.snapshot
        self.phase = Phase.STEPS
        self.sessions = 0
        self._final_changed = False
        self._end_hooks: list[Planned] = []
        self._seal_task: asyncio.Task[None] | None = None
        for row, item in loaded.running:
            self._take_up(row, item)
        self._complete_session()

    # --- what it is made of -----------------------------------------------------------------------------------

    def work_of(self, item: Planned) -> dict[str, UUID]:
        work = {"snapshot_id": self.snapshot.pk, "crawl_id": self.snapshot.crawl_id}
        return work | ({"archiveresult_id": item.result_id} if item.result_id is not None else {})

    @property
    def counts_as_in_flight(self) -> bool:
        """Whether it takes a place in flight: not while it only waits for programs, for downloads or for the disk."""
        return self.phase not in {Phase.FINISHING, Phase.SEALING} and not self.waits_for_programs

    @property
    def is_in_step(self) -> bool:
        """Whether it may still need the crawl's browser."""
        return self.phase in {Phase.STEPS, Phase.STOPPING, Phase.CLOSING_PAGE}

    @property
    def waits_for_programs(self) -> bool:
        return not self.schedule.running() and self.phase is Phase.STEPS

    def before_step(self) -> None:
        self.engine.journal.update(
            Snapshot, self.snapshot.pk, {"current_step": self.schedule.step, "attempts": 0}, self.lease
        )

    def hook_started(self, item: Planned, run: HookProcess) -> None:
        if item.replay or item.result_id is None:
            return
        columns = {"status": "started", "start_ts": timezone.now(), "process_id": run.process_id, "reason": ""}
        self.engine.journal.update(ArchiveResult, item.result_id, columns, self.lease)

    def _take_up(self, row: Process, item: Planned) -> None:
        """Go on with a hook that an earlier worker started, or judge it by what it left."""
        run = HookProcess(self.engine, self, prepare_hook(item.hook, self.call), self.work_of(item), process_id=row.pk)
        if item.status in ArchiveResultMachine.FINAL:
            item.replay, item.settled_as = True, item.status
        elif item.result_id is not None:  # its start may not have been committed
            columns = {"status": "started", "start_ts": row.started_at, "process_id": row.pk}
            self.engine.journal.update(ArchiveResult, item.result_id, columns, self.lease)
        item.run, item.status = run, "started"
        self._by_run[run] = item
        self.process_ids.add(run.mark)
        if row.status == Process.StatusChoices.RUNNING and run.adopt(row):
            self.adopted.append(run)
            slots = self._slots_for(item)
            if slots is not None:
                slots.take_anyway()
                item.slot = True
            return
        if row.status != Process.StatusChoices.EXITED:
            self.engine.journal.update(Process, row.pk, lost_columns())
        run.recall(row)
        self._by_run.pop(run)
        self.settle_run(item, run)

    # --- judging ----------------------------------------------------------------------------------------------

    def settle_run(self, item: Planned, run: HookProcess) -> None:
        if item.result_id is None or item.replay:
            item.status = item.settled_as or "succeeded"
            item.replay = False
            return
        files = self._files_of(item)
        result = outcome(self._ending_of(run, files))
        if result == CUT_OFF:
            item.hook = learn_finite(item.hook)
        if result.status is Status.QUEUED:
            self._back_to_queue(item, result.code)
        else:
            self.settle(item, result, extra=files)

    _cancelled = False

    def _ending_of(self, run: HookProcess, files: dict[str, Any]) -> Ending:
        exit_code = run.status.exit_code if run.status else None
        said = ending_of(
            run.hook, run.declared, files, exit_code=exit_code, end_reason=run.final_reason(), stderr=run.stderr
        )
        released = self.ending and not self._cancelled
        return replace(said, taken_over=run.taken_over, unwatched=run.ended_unwatched, released=released)

    def settle(self, item: Planned, result: Outcome, reason: str = "", extra: dict[str, Any] | None = None) -> None:
        declared = item.run.declared if item.run is not None else None
        columns = settled_columns(
            result, declared, attempts=item.attempts, now=timezone.now(), limit=self.engine.max_attempts
        )
        if reason:
            columns["reason"] = reason[:128]
        columns |= extra or {}
        item.status, item.attempts = str(columns["status"]), int(columns["attempts"])
        if result.status is Status.QUEUED:
            item.run = None
        self._final_changed |= not item.hook.derived
        if item.result_id is not None:
            columns["status"] = str(columns["status"])
            self.engine.journal.update(ArchiveResult, item.result_id, columns, self.lease)
            self._has_got_on()

    def _has_got_on(self) -> None:
        """A worker's death counts against the page only while no hook of it comes to an end in between."""
        if self.snapshot.attempts:
            self.snapshot.attempts = 0
            self.engine.journal.update(Snapshot, self.snapshot.pk, {"attempts": 0}, self.lease)

    def _back_to_queue(self, item: Planned, reason: str) -> None:
        item.status, item.run = "queued", None
        if item.result_id is not None:
            columns = {"status": "queued", "retry_at": timezone.now(), "reason": reason}
            self.engine.journal.update(ArchiveResult, item.result_id, columns, self.lease)
        if item.hook.session:
            self._complete_session()

    def _files_of(self, item: Planned) -> dict[str, Any]:
        return output_columns(self.call.object_dir / item.hook.plugin)

    # --- what the page is -------------------------------------------------------------------------------------

    def knows_too_little(self, item: Planned) -> bool:
        """A condition on type or status is judged once the navigations before it are over; they tell both."""
        if not item.hook.applies.needs_facts or self.snapshot.facts.are_known:
            return False
        before = (other for other in self.schedule.session_hooks() if other.hook.sort_key < item.hook.sort_key)
        return any(not other.hook.background and not other.is_settled for other in before)

    def not_applicable(self, item: Planned) -> str | None:
        return None if item.replay else item.hook.applies.reason_against(self.snapshot.url, self.snapshot.facts)

    def take_records(self, run: HookProcess, records: Sequence[Record]) -> None:
        for record in records:
            if record.type == "Snapshot" and record.fields.get("id") == str(self.snapshot.pk):
                self.snapshot.learn(record.fields)
        self.engine.journal.effect(partial(take_records, self.snapshot.pk, run.process_id, records), self.lease)

    # --- the live page ----------------------------------------------------------------------------------------

    def refuses(self, item: Planned) -> bool:
        """A hook that needs the live page waits until there is one again; session hooks are run anew for it."""
        if not item.hook.page or item.hook.session or self._session_lives():
            return False
        if self.sessions >= MOST_SESSIONS:
            self.settle(item, Outcome(Status.FAILED, Reason.NO_SESSION, retry=True))
            self._again = True
        else:
            self._open_session_again()
        return True

    def _holders_of_session(self) -> list[Planned]:
        return [item for item in self.schedule.session_hooks() if item.hook.ready]

    def _session_lives(self) -> bool:
        """The core knows no browser: the page is there while each ready-declaring session hook runs."""
        return all(item.is_running or item.is_queued or item.status == "skipped" for item in self._holders_of_session())

    def _complete_session(self) -> None:
        """A page that has to be opened anew has to be navigated anew: session hooks run together or not at all."""
        opens = any(item.is_queued for item in self._holders_of_session())
        if opens and any(item.is_settled and item.status != "skipped" for item in self.schedule.session_hooks()):
            self._open_session_again()

    def _open_session_again(self) -> None:
        self.sessions += 1
        for item in self.schedule.session_hooks():
            if item.status in {"skipped", "queued"} or item.is_running:
                continue
            item.settled_as, item.replay = item.status, item.status in ArchiveResultMachine.FINAL
            item.status, item.run, item.late = "queued", None, False
        self.schedule.step = min((item.hook.step for item in self.schedule.session_hooks()), default=self.schedule.step)
        self._again = True

    # --- after the last step ----------------------------------------------------------------------------------

    def steps_are_over(self) -> None:
        """TERM to all background hooks at once; the page last; then what is derived; then the seal."""
        if self.phase is Phase.STEPS:
            self.phase = Phase.STOPPING
            others = [item for item in self.schedule.running() if not item.hook.finite and not item.hook.session]
            self.stop_background(others, self.engine.seal_grace)
        if self.phase is Phase.STOPPING and not self._running(finite=False, session=False):
            self.phase = Phase.CLOSING_PAGE
            self.stop_background([i for i in self.schedule.running() if i.hook.session], self.engine.seal_grace)
        if self.phase is Phase.CLOSING_PAGE and not self._running(finite=False, session=True):
            self.phase = Phase.FINISHING
            if self.schedule.running():
                columns = {"finishing": True}
                self.engine.journal.update(Snapshot, self.snapshot.pk, columns, self.lease)
        if self.phase is Phase.FINISHING and not self.schedule.running() and not self._queued_finite():
            self.phase = Phase.DERIVING
            self._derive_again()
        elif self.phase is Phase.DERIVING and not self.schedule.running():
            self.phase = Phase.ENDING
            self._start_end_hooks()
        if self.phase is Phase.ENDING and all(item.is_settled for item in self._end_hooks):
            self.phase = Phase.SEALING
            self._seal_task = self.engine.in_background(self._seal())

    def _running(self, *, finite: bool, session: bool) -> bool:
        return any(item.hook.finite == finite and item.hook.session == session for item in self.schedule.running())

    def _queued_finite(self) -> bool:
        return any(item.is_queued and item.hook.finite for item in self.schedule.planned)

    def _derive_again(self) -> None:
        """What is made from other results is made again when one of those became final after it started."""
        for item in self.schedule.planned:
            if item.hook.derived and item.is_settled and item.status != "skipped" and self._changed_since(item):
                item.status, item.run = "queued", None
        self._final_changed = False
        self._again = True

    def _changed_since(self, item: Planned) -> bool:
        started = item.run.started_at if item.run is not None else None
        if started is None:
            return self._final_changed
        runs = [other.run for other in self.schedule.made_from(item)]
        return any(run.ended_at > started for run in runs if run is not None and run.ended_at is not None)

    def _start_end_hooks(self) -> None:
        """``on_SnapshotEnd`` hooks have no results of their own; they run at every seal."""
        self._end_hooks = [Planned(hook) for hook in discover_hooks("SnapshotEnd")]
        for item in self._end_hooks:
            if self.call.settings.is_enabled(item.hook.plugin):
                self._launch(item)
            else:
                item.status = "skipped"

    # --- the seal ---------------------------------------------------------------------------------------------

    async def _seal(self) -> None:
        await self.end_orphans(self.engine.stop_grace)
        self.engine.outputs.unwatch_folder(self.call.object_dir / HOOK_RUNS)
        await self.engine.loop.run_in_executor(None, tidy, self.call.object_dir)
        await self._make_durable()
        await self.engine.journal.read(seal, self.snapshot)
        self.over.set_result(None)

    async def _make_durable(self) -> None:
        """Wait out a full disk: a Snapshot whose files may vanish is not sealed."""
        while True:
            try:
                await make_durable(self.engine.loop, self.call.object_dir)
            except OSError as error:
                log.warning("Not on the disk yet: %s action=sync_failed snapshot=%s", error, self.snapshot.pk)
                await asyncio.sleep(SYNC_AGAIN)
            else:
                return

    # --- ending it otherwise ----------------------------------------------------------------------------------

    async def release(self, event: str = "release") -> None:
        """Give it back (``release``), pause or cancel it: its trees end first, then its rows change."""
        if self.phase is Phase.SEALING and self._seal_task is not None:
            await self._seal_task
            return
        self._cancelled = event == "cancel"
        reason = EndReason.CANCELLED if self._cancelled else EndReason.SEALED
        await self.end_everything(reason, self.engine.stop_grace)
        await self.engine.journal.read(put_down, self.snapshot, event)
        if not self.over.done():
            self.over.set_result(None)

    async def abandon(self) -> None:
        """The lease is lost: end its trees, and write nothing but what happened to processes."""
        await self.end_everything(EndReason.CANCELLED, 0.0)
        if not self.over.done():
            self.over.set_result(None)


def tidy(object_dir: Path) -> None:
    """Remove empty logs and empty plugin folders: one pass at the seal."""
    hooks = object_dir / HOOK_RUNS
    for file in hooks.iterdir() if hooks.is_dir() else ():
        if file.suffix == ".pid" or (file.suffix == ".log" and file.stat().st_size == 0):
            file.unlink(missing_ok=True)
    for folder in object_dir.iterdir() if object_dir.is_dir() else ():
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def lost_columns() -> dict[str, Any]:
    return {"status": "exited", "ended_at": timezone.now(), "end_reason": EndReason.LOST}
