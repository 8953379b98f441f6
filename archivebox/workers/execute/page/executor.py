"""A Snapshot in the hands of its worker, from step 0 to its seal."""

import asyncio
from dataclasses import replace

from archivebox.contract.records import EndReason
from archivebox.core.page_storage.folder import expect_changes
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.machine.process import Process
from archivebox.workers.execute.capacity.slots import LATE_AFTER
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.execute.page.live_page import LivePage
from archivebox.workers.execute.page.results import PageResults
from archivebox.workers.execute.page.rows import Loaded, end_lease
from archivebox.workers.execute.page.rules import PageRules
from archivebox.workers.execute.page.sealing import Phase, Sealing
from archivebox.workers.execute.page.storing import InterruptedStoringError, PageStoring
from archivebox.workers.execute.steps.executor import StepExecutor
from archivebox.workers.execute.steps.schedule import Planned, Schedule, WaitingFor
from archivebox.workers.queue.lease import Lease


class SnapshotExecutor(LeasedItem):
    """Runs one hook per ArchiveResult, step by step, and seals the Snapshot."""

    def __init__(self, engine: Engine, lease: Lease, loaded: Loaded) -> None:
        super().__init__(engine, lease)
        self.snapshot = loaded.snapshot
        self.is_retry = loaded.is_retry
        self.was_elsewhere = loaded.was_elsewhere
        self.is_cancelled = False
        self.schedule = Schedule(loaded.planned, loaded.step)
        self.page = LivePage(self.schedule)
        self.tabs = engine.tabs.of(self.snapshot.crawl_id, late=self.is_retry)
        self.late_at = engine.loop.time() + LATE_AFTER
        is_late = engine.loop.call_at(self.late_at, engine.on_capacity)
        self.over.add_done_callback(lambda _: is_late.cancel())  # else ten seconds after each page a poll for nothing
        self.results = PageResults(self)
        call = replace(loaded.call, proxy=engine.proxies.proxy_of(self.snapshot.crawl_id))
        rules = PageRules(self, call.settings)
        self.steps = StepExecutor(self, call, self.schedule, rules, self.results, tabs=self.tabs)
        self.storing = PageStoring(engine, self.snapshot, lease)
        self.sealing = Sealing(self.steps, self.snapshot, self.storing)
        self._fetching: asyncio.Task[None] | None = None
        for row, item in loaded.running:
            self._resume(row, item)
        self.steps.runs.end_leftovers(loaded.leftovers)
        self.steps.runs.ended_before = loaded.ended_before
        self._is_unjudged = True
        self.page.mark_lost_if_incomplete()
        if loaded.missing is not None:
            self._fetching = engine.in_background(self._fetch(loaded.missing))

    async def _fetch(self, missing: StoredObject) -> None:
        """Have the files of a page that was sealed elsewhere here, before anything is made from them."""
        try:
            await self.storing.fetch(missing)
            await self.engine.transfer(expect_changes, self.snapshot)
        except OSError as error:
            self.steps.fail(error)
        except InterruptedStoringError:
            return
        self._fetching = None
        if not self.ending:
            self.advance()

    def _resume(self, row: Process, item: Planned) -> None:
        """Go on with a hook that an earlier worker started, or judge it by what it left."""
        if item.status in ArchiveResultMachine.FINAL:
            item.replay, item.final_status = True, item.status
        else:  # its start may not have been committed
            self.results.change(item, "started", {"start_ts": row.started_at, "process_id": row.pk})
        if not self.steps.runs.adopt(item, row):
            self.steps.runs.recall(item, row)

    def advance(self) -> None:
        """Do what can be done now; the tab is given back as soon as nothing more needs it.

        What an earlier worker left is judged first; then a page of which only a part is left is opened anew.
        """
        if self._fetching is not None or self.steps.runs.unjudged:
            return
        if self._is_unjudged:
            self._is_unjudged = False
            self.page.mark_lost_if_incomplete()
        wanted_page = self.page.is_wanted
        self.steps.advance()
        if self.page.may_be_closed and not self.ending:
            self._close_page()
        if wanted_page and not self.page.is_wanted:
            self.engine.on_capacity()

    def _close_page(self) -> None:
        closing = self.page.closing()
        self.steps.runs.stop_background(closing, self.engine.seal_grace)
        for item in closing:
            self.steps.resources.release(item)  # the next tab may open while this one closes

    def proxy_died(self) -> None:
        """Have the live page opened anew: what it was receiving broke off, and nobody asks for it again."""
        if self.page.is_open and not self.page.is_abandoned:
            self.page.mark_lost()
            self.advance()

    # --- what its worker's capacity depends on ----------------------------------------------------------------

    @property
    def counts_as_in_flight(self) -> bool:
        """Whether it takes a place in flight: not late, nor while it only waits for programs, downloads or the disk."""
        if self.sealing.phase in {Phase.FINISHING, Phase.SEALING} or self.waits_for_programs or self._fetching:
            return False
        return not self.is_retry and self.engine.loop.time() < self.late_at

    @property
    def is_in_step(self) -> bool:
        """Whether it may still need the crawl's browser."""
        return self.sealing.phase in {Phase.STEPS, Phase.STOPPING, Phase.CLOSING_PAGE}

    @property
    def waits_for_programs(self) -> bool:
        return self._idle_for(WaitingFor.PROGRAM) and not self._idle_for(WaitingFor.SLOT)

    @property
    def is_ahead(self) -> bool:
        """Whether it was taken before there is a place for it: it wants a tab, or stands still for want of another."""
        if self.sealing.phase is not Phase.STEPS or self.is_retry or self.waits_for_programs:
            return False
        return self.page.is_wanted or self._idle_for(WaitingFor.SLOT)

    def _idle_for(self, what: WaitingFor) -> bool:
        """Whether nothing of it runs, and a hook whose turn it is waits for this."""
        if self.schedule.running() or self.sealing.phase is not Phase.STEPS:
            return False
        return any(item.is_queued and item.waiting_for is what for item in self.schedule.planned)

    # --- ending it otherwise ----------------------------------------------------------------------------------

    def hooks(self) -> list[HookProcess]:
        return self.steps.runs.latest

    async def handle_request(self, event: str) -> None:
        """Give it back (``release``), pause or cancel it: its trees end first, then its rows change."""
        if self._fetching is not None:
            self.storing.interrupt()
            await asyncio.wait([self._fetching])
        if await self.sealing.finish():
            return
        self.is_cancelled = event == "cancel"
        reason = EndReason.CANCELLED if self.is_cancelled else EndReason.SEALED
        await self.steps.end_everything(reason, self.engine.stop_grace)
        await self.engine.journal.read(end_lease, self.snapshot, event)
        self.finish()

    async def abandon(self) -> None:
        """What was running runs again, with whoever takes its end from the row of its process."""
        self.storing.interrupt()
        await self.steps.end_everything(EndReason.LOST, 0.0)
        self.finish()
