"""A Snapshot in the hands of its worker, from step 0 to its seal."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from django.utils import timezone

from archivebox.contract.hook import TAB
from archivebox.contract.outcomes import CUT_OFF, PAGE_LOST, Ending, Outcome, Status, failure, outcome
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason, Record
from archivebox.core.archiveresult import (
    ArchiveResult,
    ending_of,
    settled_columns,
    take_title,
    title_said,
)
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.hooks import learn_finite, prepare_hook
from archivebox.lib.machine_load import is_busy
from archivebox.lib.processes import UNSEEN
from archivebox.machine.process import Process
from archivebox.machine.process_row import exited_columns
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.executor import Executor
from archivebox.workers.execute.hook_process import HookProcess
from archivebox.workers.execute.live_page import LivePage
from archivebox.workers.execute.page_limits import PageLimits
from archivebox.workers.execute.refused_page import RefusedPage, was_refused
from archivebox.workers.execute.schedule import Planned, Schedule, WaitingFor
from archivebox.workers.execute.sealing import Phase, Sealing
from archivebox.workers.execute.slots import LATE_AFTER, SlotPool
from archivebox.workers.execute.snapshot_rows import Loaded, end_lease, ingest_records
from archivebox.workers.queue.lease import Lease

TIMES_WHEN_BUSY = 2
"""As many attempts has what failed for want of time while the machine was busy; back-off leads to when it is idle."""
OF_TIME = frozenset({Reason.TIMEOUT, Reason.TEMPORARY_FAILURE})


def attempts_allowed(reason: Reason | None, limit: int) -> int:
    """How often a hook may run that has just failed for ``reason``, where the limit is otherwise ``limit``."""
    return limit * TIMES_WHEN_BUSY if reason in OF_TIME and is_busy() else limit


class SnapshotExecutor(Executor):
    """Runs one hook per ArchiveResult, step by step, and seals the Snapshot."""

    event = "Snapshot"

    def __init__(self, engine: Engine, lease: Lease, loaded: Loaded) -> None:
        call = replace(loaded.call, proxy=engine.proxies.proxy_of(loaded.snapshot.crawl_id))
        super().__init__(engine, lease, call, Schedule(loaded.planned, loaded.step))
        self.snapshot = loaded.snapshot
        self.limits = PageLimits(loaded.call.settings)
        self.is_retry = loaded.is_retry
        self._tabs = engine.tabs.of(self.snapshot.crawl_id, late=self.is_retry)
        self._late_at = engine.loop.time() + LATE_AFTER
        is_late = engine.loop.call_at(self._late_at, engine.on_capacity)
        self.over.add_done_callback(lambda _: is_late.cancel())  # else ten seconds after each page a poll for nothing
        self.page = LivePage(self.schedule)
        self.refused = RefusedPage(self)
        self.sealing = Sealing(self, self.snapshot)
        self._to_judge: set[HookProcess] = set()
        """Runs that ended while no worker had them: nothing is started before all of them are judged."""
        for row, item in loaded.running:
            self._resume_hook(row, item)
        self.end_leftovers(loaded.leftovers)
        self.ended_before = loaded.ended_before
        self.page.lose_if_torn()

    # --- what it is made of -----------------------------------------------------------------------------------

    def work_of(self, item: Planned) -> dict[str, UUID]:
        work = {"snapshot_id": self.snapshot.pk, "crawl_id": self.snapshot.crawl_id}
        return work | ({"archiveresult_id": item.result_id} if item.result_id is not None else {})

    @property
    def counts_as_in_flight(self) -> bool:
        """Whether it takes a place in flight: not late, nor while it only waits for programs, downloads or the disk."""
        if self.sealing.phase in {Phase.FINISHING, Phase.SEALING} or self.waits_for_programs:
            return False
        return not self.is_retry and self.engine.loop.time() < self._late_at

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

    def _pool_for(self, item: Planned) -> SlotPool | None:
        return self._tabs if item.hook.opens_page else super()._pool_for(item)

    def advance(self) -> None:
        """Do what can be done now; the tab is given back as soon as nothing more needs it."""
        if self._to_judge:
            return
        wanted_page = self.page.is_wanted
        super().advance()
        if self.page.is_done_with and not self.ending:
            self._close_page()
        if wanted_page and not self.page.is_wanted:
            self.engine.on_capacity()

    def let_others_in(self, item: Planned) -> None:
        """One that holds the tab keeps all others from it: the page stands aside, and goes on once it has ended."""
        super().let_others_in(item)
        if TAB in item.holds:
            self._late_at = self.engine.loop.time()
            self.page.yield_tab(item)
            self.engine.on_capacity()

    def _has_reacquired_tab(self) -> bool:
        """Whether its tab is among those at work: where it stood aside it takes a place again, if there is one."""
        came_back = self.page.reacquire()
        if came_back is None:
            self._tabs.notify_when_free(self.advance)
            return False
        for place in came_back:
            self._watch_slot(place)
        return True

    def _close_page(self) -> None:
        closing = self.page.closing()
        self.stop_background(closing, self.engine.seal_grace)
        for item in closing:
            self._release_slot(item)  # the next tab may open while this one closes

    def steps_are_over(self) -> None:
        self.sealing.advance()

    def before_step(self) -> None:
        self.engine.journal.update(Snapshot, self.snapshot.pk, {"current_step": self.schedule.step}, self.lease)

    def hook_started(self, item: Planned, run: HookProcess) -> None:
        if item.result_id is None:
            return
        columns: dict[str, object] = {"start_ts": timezone.now(), "process_id": run.process_id}
        columns |= {} if item.replay else {"status": "started", "reason": _kept_reason(item, "")}
        self.engine.journal.update(ArchiveResult, item.result_id, columns, self.lease)

    def _resume_hook(self, row: Process, item: Planned) -> None:
        """Go on with a hook that an earlier worker started, or judge it by what it left."""
        run = HookProcess(self.engine, self, prepare_hook(item.hook, self.call), self.work_of(item), process_id=row.pk)
        if item.status in ArchiveResultMachine.FINAL:
            item.replay, item.final_status = True, item.status
        elif item.result_id is not None:  # its start may not have been committed
            columns = {"status": "started", "start_ts": row.started_at, "process_id": row.pk}
            self.engine.journal.update(ArchiveResult, item.result_id, columns, self.lease)
        item.run, item.status = run, "started"
        self._by_run[run] = item
        self.process_ids.add(run.mark)
        if row.status == Process.StatusChoices.RUNNING and run.adopt(row):
            if run.ended_unwatched:
                self._to_judge.add(run)
            self.adopted.append(run)
            self.expect_ready(item, run)
            pool = self._pool_for(item)
            item.slot = pool.acquire_over_limit() if pool is not None else None
            return
        if row.status != Process.StatusChoices.EXITED:
            self.engine.journal.update(Process, row.pk, exited_columns(UNSEEN))
        self._to_judge.add(run)
        run.recall(row)

    # --- judging ----------------------------------------------------------------------------------------------

    def hook_ended(self, run: HookProcess) -> None:
        """What an earlier worker left is judged first; then a page of which only a part is left is opened anew."""
        super().hook_ended(run)
        if run in self._to_judge:
            self._to_judge.remove(run)
            if not self._to_judge:
                self.page.lose_if_torn()
                self.advance()

    def settle_run(self, item: Planned, run: HookProcess) -> None:
        item.files = run.listing.columns
        result = self._with_regard_to_page(item, outcome(self._ending_of(run)))
        replayed, item.replay = item.replay, False
        if item.result_id is None or (replayed and self.ending):
            item.status = item.final_status or "succeeded"
            return
        if result == CUT_OFF:
            item.hook = learn_finite(item.hook)
        if replayed and self.refused.is_had_already(item, result):
            self.refused.keep_earlier(item)
        elif result.status is Status.QUEUED:
            self.back_to_queue(item, result.code)
        else:
            earlier = item.reason
            self.settle(item, result, extra=run.listing.columns | {"iface_id": self._interface_of(item, run, result)})
            self.refused.follow(item, earlier)
            title = "" if self.refused.is_kept else title_said(item.hook, run.declared)
            if title:  # asked here: an effect costs a savepoint, for every hook
                self.engine.journal.effect(partial(take_title, self.snapshot.pk, title), self.lease)
        if item.hook.opens_page and run.declared is not None and run.declared.is_final_failure:
            self._page_is_gone()

    def _interface_of(self, item: Planned, run: HookProcess, result: Outcome) -> UUID | None:
        """By which its connections left; those of a navigation are the browser's."""
        found = self.engine.interfaces.of_process(self.snapshot.crawl_id, run.process_id)
        if found is None and item.hook.is_navigation and result.status is not Status.FAILED:
            found = self.engine.interfaces.of_url(self.snapshot.crawl_id, self.snapshot.url)
        return found

    def _with_regard_to_page(self, item: Planned, result: Outcome) -> Outcome:
        """Who held, recorded or used the page when it died, or died itself at that, runs again on a new one."""
        if item.hook.session:
            if self.page.is_gone and result.retry:
                return failure(Reason.PAGE_GONE)
            if result.reason is Reason.SIGNALLED and not self.page.is_given_up:
                result = PAGE_LOST
            is_lost = result.status is Status.QUEUED and item.run not in self._to_judge
        else:
            is_lost = self._lost_its_page(item, result)
            result = PAGE_LOST if is_lost else result
        if is_lost:
            self.page.lose(item)
        return result

    def _lost_its_page(self, item: Planned, result: Outcome) -> bool:
        """Whether it failed for want of the page, by its own word or because nobody holds it any more."""
        if result == PAGE_LOST or not item.hook.page:
            return result == PAGE_LOST
        if item.released_page and item.run is not None and item.run.declared is None:
            return False  # it broke over what it had taken from there
        return result.status is Status.FAILED and result.retry and not self.page.lives

    def _page_is_gone(self) -> None:
        """Who held it says that it went away for good: what listened to it is not tried again for that either."""
        self.page.is_gone = True
        for item in self.schedule.session_hooks():
            if item.status == "backoff":
                self.settle(item, failure(Reason.PAGE_GONE))

    _cancelled = False

    def _ending_of(self, run: HookProcess) -> Ending:
        exit_code = run.status.exit_code if run.status else None
        return ending_of(
            run.hook,
            run.declared,
            run.listing,
            exit_code=exit_code,
            end_reason=run.final_reason(),
            stderr=run.stderr,
            taken_over=run.taken_over,
            unwatched=run.ended_unwatched,
            killed_early=run.killed_early,
            released=(self.ending or self.engine.stopping) and not self._cancelled,
        )

    def settle(self, item: Planned, result: Outcome, reason: str = "", extra: dict[str, Any] | None = None) -> None:
        declared = item.run.declared if item.run is not None else None
        limit = attempts_allowed(result.reason, self.engine.max_attempts)
        columns = settled_columns(result, declared, attempts=item.attempts, now=timezone.now(), limit=limit)
        left_out = item.run.left_out if item.run is not None else ""
        columns["reason"] = (reason or str(columns["reason"]) or left_out)[:128]
        columns |= extra or {}
        item.status, item.reason = str(columns["status"]), str(columns["reason"])
        item.attempts, item.retry_at = int(columns["attempts"]), columns["retry_at"]
        if result.status is Status.QUEUED:
            item.run = None
        self.sealing.final_changed |= not item.hook.derived
        if item.hook.gate and item.status in {"succeeded", "noresults"}:
            self._judge_anew(Reason.KEPT_OUT.of(item.hook.plugin))
        if item.result_id is not None:
            columns["status"] = str(columns["status"])
            self.engine.journal.update(ArchiveResult, item.result_id, columns, self.lease)
            self._has_got_on(item)

    def _has_got_on(self, item: Planned) -> None:
        """A worker's death counts against the page only while no result of it becomes final in between."""
        if self.snapshot.attempts and item.is_settled:
            self.snapshot.attempts = 0
            self.engine.journal.update(Snapshot, self.snapshot.pk, {"attempts": 0}, self.lease)

    def back_to_queue(self, item: Planned, reason: str) -> None:
        """Have it run again, in this worker's hands if these keep it."""
        item.status, item.run = "queued", None
        if item.result_id is not None:
            columns = {"status": "queued", "retry_at": timezone.now(), "reason": _kept_reason(item, reason)}
            self.engine.journal.update(ArchiveResult, item.result_id, columns, self.lease)

    def proxy_died(self) -> None:
        """Have the live page opened anew: what it was receiving broke off, and nobody asks for it again."""
        if self.page.is_open and not self.page.is_given_up:
            self.page.lose()
            self.advance()

    # --- what the page is -------------------------------------------------------------------------------------

    def facts_pending(self, item: Planned) -> bool:
        """A condition on type or status is judged once the navigations before it are over; they tell both.

        What is in the background and ends by itself holds up no step, so it waits for the first of them in any case.
        """
        return not all(navigation.is_settled for navigation in self._navigations_for(item))

    def _navigations_for(self, item: Planned) -> list[Planned]:
        """Those that are still to tell whether a hook applies."""
        if not item.hook.applies.needs_facts or self.snapshot.facts.are_known:
            return []
        before = [one for one in self.schedule.navigations if one.hook.sort_key < item.hook.sort_key]
        return before + self.schedule.first_navigations * (item.hook.background and item.hook.finite)

    def _is_put_off(self, item: Planned) -> bool:
        """Whether a navigation that would have told if a hook applies failed, and is tried again: so is the hook."""
        navigation = next((one for one in self._navigations_for(item) if one.status == "backoff"), None)
        if navigation is not None:
            result = Outcome(Status.FAILED, Reason.NOTHING_CAME, retry=True, counts=False)
            self.settle(item, result, extra={"retry_at": navigation.retry_at} if navigation.retry_at else None)
            self.go_on()
        return navigation is not None

    def skip_reason(self, item: Planned) -> str | None:
        if item.replay:
            return None
        if gate := self.schedule.closed_gate(item):
            return Reason.KEPT_OUT.of(gate.hook.plugin)
        return self.snapshot.reason_against(item.hook, self.call.settings)

    def ingest_records(self, run: HookProcess, records: Sequence[Record]) -> bool:
        for record in records:
            if record.type == "Snapshot" and record.fields.get("id") == str(self.snapshot.pk):
                self._learn(record)
        taken, beyond = self.limits.admit(self.refused.without_claims(records))
        run.left_out = run.left_out or beyond
        if taken:
            self.ingest(run, partial(ingest_records, self.snapshot.pk, run.process_id), taken, self.lease)
        return bool(taken)

    def _learn(self, record: Record) -> None:
        """What a hook tells of the page; where nothing came the last time and now does, who applies is judged anew."""
        nothing_came = self.snapshot.facts.nothing_came
        self.snapshot.learn(record.fields)
        if nothing_came and self.snapshot.facts.are_known:
            self._judge_anew(Reason.NOTHING_CAME)

    def _judge_anew(self, reason: str) -> None:
        """What stood in the way of some hooks does so no longer: they wait for their turn again."""
        for item in self.schedule.planned:
            if item.status == "skipped" and item.reason == reason:
                self.back_to_queue(item, "")

    def must_wait(self, item: Planned) -> bool:
        """A hook that needs the live page waits until there is one again; session hooks are run anew for it."""
        if self._is_put_off(item) or (item.hook.page and not self._has_reacquired_tab()):
            return True
        if not (item.hook.page or item.hook.session) or self.page.is_open_for(item):
            return False
        if self.page.is_gone:
            self.settle(item, failure(Reason.PAGE_GONE))
        elif self.page.is_given_up:
            self.settle(item, failure(Reason.NO_SESSION))
        elif remains := self.page.remains():
            self.stop_background(remains, self.engine.seal_grace)
            return True  # the end of the last of them leads here again
        else:
            self.page.open_again()
        self.go_on()
        return True

    # --- ending it otherwise ----------------------------------------------------------------------------------

    async def requeue(self) -> None:
        await self.handle_request("release")

    async def handle_request(self, event: str) -> None:
        """Give it back (``release``), pause or cancel it: its trees end first, then its rows change."""
        if await self.sealing.finish():
            return
        self._cancelled = event == "cancel"
        reason = EndReason.CANCELLED if self._cancelled else EndReason.SEALED
        await self.end_everything(reason, self.engine.stop_grace)
        await self.engine.journal.read(end_lease, self.snapshot, event)
        self.finish()

    async def abandon(self) -> None:
        """The lease is lost: end its trees, and write nothing but what happened to processes."""
        await self.end_everything(EndReason.CANCELLED, 0.0)
        self.finish()


def _kept_reason(item: Planned, reason: str) -> str:
    """The reason of a result that is open again: that of a refusal stays until its navigation has found the page."""
    return item.reason if was_refused(item) and item.hook.session else reason
