"""A Snapshot in the hands of its worker, from step 0 to its seal: does what the plan of the page says.

Effects are here and state is in :mod:`page_plan`: each action has one clause in :meth:`PageRun.perform`, which answers
with the event that the plan takes note of.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.utils import timezone

from archivebox.config.resolve import Resolved
from archivebox.contract.applies import PageFacts
from archivebox.contract.hook import Hook
from archivebox.contract.outcomes import FINAL_STATUSES, Outcome, Status, failure
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason, Record
from archivebox.core.archiveresult import ArchiveResult, back_off, settled_columns, store_unless_told, told_by_result
from archivebox.core.page_storage.folder import expect_changes
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.hooks import discover_hooks, outputs_of, remember_finite
from archivebox.lib.files import remove_tree
from archivebox.lib.machine_load import is_busy, is_short_of_memory
from archivebox.storage.shared_files import own_files, renew_folder
from archivebox.workers.execute.capacity.slots import LATE_AFTER
from archivebox.workers.execute.capacity.tabs import Tab
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hook_runs import PlannedItem
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.page.rows import Loaded, end_lease, ingest_records
from archivebox.workers.execute.page.sealing import LINKED, Sealing
from archivebox.workers.execute.page.storing import InterruptedStoringError, PageStoring
from archivebox.workers.execute.page_plan import PagePlan
from archivebox.workers.execute.plan_events import (
    Action,
    BeginStep,
    Done,
    Ended,
    Enter,
    Event,
    Happened,
    KeepEarlier,
    Learned,
    Linked,
    NotStarted,
    OpenAnew,
    Phase,
    Planned,
    ReacquireTab,
    Requeue,
    Settle,
    Settled,
    Sign,
    Start,
    WaitingFor,
    YieldTab,
)
from archivebox.workers.queue.lease import Lease

log = logging.getLogger(__name__)

TIMES_WHEN_BUSY = 2
"""As many attempts has what failed for want of time or memory; its retry waits for the machine to be idle."""
TAGS_MAX = 1_000
"""Tags taken from one page."""
OF_THE_PAGE = frozenset({"title", "tags", "quality"})
"""What only the page itself may say of its Snapshot."""


class PageRun(PlannedItem):
    """Runs one hook per ArchiveResult, step by step, and seals the Snapshot."""

    plan: PagePlan

    def __init__(self, engine: Engine, lease: Lease, loaded: Loaded) -> None:
        self.snapshot = page = loaded.snapshot
        self.tabs = engine.tabs.of(page.crawl_id, late=loaded.is_retry)
        call = replace(loaded.call, proxy=engine.proxies.proxy_of(page.crawl_id))
        super().__init__(engine, lease, call, {"snapshot_id": page.pk, "crawl_id": page.crawl_id}, self.tabs)
        self.is_retry, self._was_elsewhere, self._is_cancelled = loaded.is_retry, loaded.was_elsewhere, False
        at_end = [hook for hook in discover_hooks("SnapshotEnd") if call.settings.reason_to_skip(hook) is None]
        self.plan = PagePlan(
            loaded.planned,
            page.facts,
            reason_to_skip=call.settings.reason_to_skip,
            reason_against=lambda hook, facts: page.reason_against(hook, call.settings, facts),
            needed=self.needed,
            max_attempts=self.max_attempts,
            end_hooks=list(map(Planned, at_end)),
            makes_evidence=_makes_evidence,
            may_link=call.settings.get("KEEP_UNCHANGED") == LINKED and page.sealed_at is None,
        )
        self._limits = PageLimits(call.settings)
        self._recorded = loaded.recorded
        self._renewed: set[str] = set()
        """Plugins whose folders are this machine's own."""
        self.late_at = engine.loop.time() + LATE_AFTER
        is_late = engine.loop.call_at(self.late_at, engine.on_capacity)
        self.over.add_done_callback(lambda _: is_late.cancel())  # else ten seconds after each page a poll for nothing
        self.storing = PageStoring(engine, page, lease)
        self.sealing = Sealing(engine, lease, page, self.storing, call)
        self._seal_task: asyncio.Task[None] | None = None
        self._link_task: asyncio.Task[None] | None = None
        self._is_interrupted = False
        for row, item in loaded.running:
            if item.status not in FINAL_STATUSES:  # its start may not have been committed
                self._change(item, "started", {"start_ts": row.started_at, "process_id": row.pk})
            if started := self.runs.resume_run(item, row):
                self.note(started)
        self.note(Happened(Sign.TAKEN_OVER))
        self.runs.end_leftovers(loaded.leftovers)
        self.runs.ended_before = loaded.ended_before
        self._fetching = engine.in_background(self._fetch(loaded.missing)) if loaded.missing is not None else None

    async def _fetch(self, missing: StoredObject) -> None:
        """Have the files of a page that was sealed elsewhere here, before anything is made from them."""
        try:
            await self.storing.fetch(missing)
            await self.engine.transfer(expect_changes, self.snapshot)
        except OSError as error:
            self.fail(error)
        except InterruptedStoringError:
            return
        self._fetching = None
        self.advance()

    def advance(self) -> None:
        wanted_tab = self.plan.wants_tab
        super().advance()
        if wanted_tab and not self.plan.wants_tab:
            self.engine.on_capacity()

    def _next_actions(self) -> Sequence[Action]:
        return list(self.plan.decided) if self._fetching is not None else super()._next_actions()

    def proxy_died(self) -> None:
        """Have the live page opened anew: what it was receiving broke off, and nobody asks for it again."""
        self.note(Happened(Sign.PROXY_DIED))
        self.advance()

    # --- one clause for each action ---------------------------------------------------------------------------

    def perform(self, action: Action) -> Event:
        match action:
            case Start(item=item) if item.hook.opens_page and self._cannot_open(item):
                return self.settle(Settle(item, failure(Reason.NO_SESSION)))
            case BeginStep(step=step):
                self._update({"current_step": step})
            case Requeue():
                self._requeue(action)
            case KeepEarlier(facts=facts):
                self.engine.journal.effect(partial(write_facts, self.snapshot.pk, facts), self.lease)
                after = timedelta(seconds=action.after) if action.after else back_off(1)
                return Done(action, timezone.now() + after)
            case OpenAnew():
                return Done(action, timezone.now())
            case YieldTab():
                self.late_at = self.engine.loop.time()
                for tab in self._open_tabs():
                    tab.yield_tab()
                self.engine.on_capacity()
            case ReacquireTab(item=item) if not self._has_reacquired_tab():
                return NotStarted(item, WaitingFor.SLOT)
            case ReacquireTab():
                pass
            case Enter(phase=phase):
                self._enter(phase)
            case _:
                return super().perform(action)
        return Done(action)

    def _cannot_open(self, item: Planned) -> bool:
        """Whether the crawl's hook that the tab relies on died too often before it was ready."""
        return item.hook.plugin in self.engine.unstartable.get(self.snapshot.crawl_id, ())

    def _open_tabs(self) -> list[Tab]:
        slots = map(self.runs.slots.get, self.plan.holders)
        return [slot for slot in slots if isinstance(slot, Tab)]

    def _has_reacquired_tab(self) -> bool:
        """Take places again for the tabs that stood aside, if there are any."""
        aside = [tab for tab in self._open_tabs() if tab.is_aside]
        if not all(tab.reacquire() for tab in aside):
            self.tabs.notify_when_free(self.runs.on_place_free)
            return False
        for tab in aside:
            self.runs.watch_slot(tab)
        return True

    def _enter(self, phase: Phase) -> None:
        if phase in {Phase.FINISHING, Phase.DERIVING}:
            self._update({"finishing": True})  # the browser of the crawl's last page ends while the rest is made
        if phase in {Phase.FINISHING, Phase.DERIVING, Phase.SEALING}:
            self.engine.on_capacity()
        if phase is Phase.LINKING:
            self._link_task = self.engine.in_background(self._link())
        if phase is Phase.SEALING:
            self._seal_task = self.engine.in_background(self._seal())

    def _update(self, columns: dict[str, Any]) -> None:
        self.engine.journal.update(Snapshot, self.snapshot.pk, columns, self.lease)

    # --- the rows of its results ------------------------------------------------------------------------------

    def _write(self, item: Planned, columns: dict[str, Any]) -> None:
        """Put columns of a result on record; hooks at a seal have none."""
        if item.result_id is not None:
            self.engine.journal.update(ArchiveResult, item.result_id, columns, self.lease)

    def _change(self, item: Planned, status: str, columns: dict[str, Any]) -> None:
        """Put a status on record; what is final comes to another one through the queue."""
        lines = ArchiveResultMachine.transitions()
        line = lines[ArchiveResultMachine.BY_STATUS[status]]
        if self._recorded.get(item, "queued") not in line.sources | {status}:
            self._write(item, lines["requeue"].columns_of({}))
        self._write(item, line.columns_of(columns))
        self._recorded[item] = status

    def before_start(self, item: Planned, run: HookProcess) -> None:
        if self._was_elsewhere:
            self._renew_folder(run)
        if self.plan.linked or self.snapshot.sealed_at is not None:  # files of it may be those of another version
            own_files(self.snapshot.path, item.hook.plugin)
        columns: dict[str, object] = {"start_ts": timezone.now(), "process_id": run.row.process_id}
        if item.replay:
            self._write(item, columns)
        else:
            self._change(item, "started", columns | {"reason": self.plan.reason_kept(item, "")})

    def _renew_folder(self, run: HookProcess) -> None:
        """Before the first of our hooks in it, where one of another machine may still write into it."""
        plugin = run.hook.plugin
        beside = (one for one in self.runs.runs_in_folder_of(run) if one is not run)
        if plugin not in self._renewed and all(one.ended for one in beside):
            renew_folder(self.snapshot.path, plugin)
        self._renewed.add(plugin)

    def _requeue(self, action: Requeue) -> None:
        item = action.item
        if action.was_cut_off:
            remember_finite(item.hook)
        if action.removes_files:
            try:
                remove_tree(self.call.object_dir / item.hook.plugin)
            except OSError as error:  # whoever writes there next says so
                log.warning("Not deleted: %s action=evidence_left snapshot=%s", error, self.snapshot.pk)
        reason = self.plan.reason_kept(item, action.reason)
        self._change(item, "queued", {"retry_at": timezone.now(), "reason": reason})

    def settle(self, action: Settle) -> Settled:
        item, result, run = action.item, action.result, self._run_of(action.item)
        declared = run.output.declared if run is not None else None
        lacked = lacked_machine(result)
        limit = self.max_attempts * (TIMES_WHEN_BUSY if lacked else 1)
        columns = settled_columns(
            result, declared, attempts=item.attempts, now=timezone.now(), limit=limit, when_idle=lacked
        )
        left_out = run.output.left_out if run is not None else ""
        columns["reason"] = (action.reason or str(columns["reason"]) or left_out)[:128]
        if action.retry_at is not None:
            columns["retry_at"] = action.retry_at
        told: dict[str, str | int] = {}
        if action.of_run and run is not None:
            columns |= run.listing.columns | {"iface_id": self._interface_of(item, run, result)}
            told = {} if self.plan.is_refused else told_by_result(item.hook, declared)
        status = str(columns["status"])
        self._change(item, status, columns)
        if self.snapshot.attempts and status != "queued" and item.result_id is not None:
            # A worker's death counts against the page only while no result of it becomes final in between.
            self.snapshot.attempts = 0
            self._update({"attempts": 0})
        if told:  # asked here: an effect costs a savepoint, for every hook
            self.engine.journal.effect(partial(store_unless_told, self.snapshot.pk, told), self.lease)
        return Settled(
            action, status, int(columns["attempts"]), columns["reason"], columns["retry_at"],
            int(told.get("http_status", 0)),
        )  # fmt: skip

    def _run_of(self, item: Planned) -> HookProcess | None:
        return self.runs.of.get(item) if item.has_run else None

    def _interface_of(self, item: Planned, run: HookProcess, result: Outcome) -> UUID | None:
        """By which its connections left; those of a navigation are the browser's."""
        interfaces, crawl_id = self.engine.interfaces, self.snapshot.crawl_id
        found = interfaces.of_process(crawl_id, run.row.process_id)
        if found is None and item.hook.is_navigation and result.status is not Status.FAILED:
            found = interfaces.of_url(crawl_id, self.snapshot.url)
        return found

    # --- what hooks tell --------------------------------------------------------------------------------------

    def note_end(self, item: Planned, run: HookProcess) -> None:
        released = (self.ending or self.engine.stopping) and not self._is_cancelled
        declared = run.output.declared
        self.note(
            Ended(
                item,
                run.ended_run(released=released),
                run.row.ended_at,
                after=declared.after if declared is not None else 0,
                in_vain=declared is not None and declared.is_final_failure,
            )
        )

    def ingest_records(self, run: HookProcess, records: Sequence[Record]) -> bool:
        for record in records:
            if record.type == "Snapshot" and record.fields.get("id") == str(self.snapshot.pk):
                self._learn(self.snapshot.learn(record.fields))
        taken, beyond = self._limits.admit(_without_claims(records) if self.plan.is_refused else records)
        run.output.left_out = run.output.left_out or beyond
        if taken:
            apply = partial(ingest_records, self.snapshot.pk, run.row.process_id)
            self.runs.ingest(run, apply, taken, self.lease)
        return bool(taken)

    def _learn(self, told: Mapping[str, str | int]) -> None:
        known = self.plan.facts
        self.note(
            Learned(
                PageFacts(
                    str(told.get("final_url", known.final_url)),
                    int(told.get("http_status", known.http_status)),
                    str(told.get("mime_type", known.mime_type)),
                )
            )
        )

    # --- the seal ---------------------------------------------------------------------------------------------

    async def _link(self) -> None:
        """Link the outputs of an unchanged version to those of the one before."""
        try:
            linked = await self.sealing.link_outputs(is_refused=self.plan.shows_refusal)
        except OSError as error:
            self.fail(error)
            return
        self.note(Linked(frozenset(linked)))
        self.advance()

    async def _seal(self) -> None:
        try:
            await self.runs.end_orphans(self.engine.stop_grace)
            if await self.sealing.seal(
                has_run=bool(self.runs.marks),
                is_refused=self.plan.shows_refusal,
                linked=self.plan.linked,
                may_be_lost=lambda: self.may_be_lost,
            ):
                self.finish()
        except OSError as error:
            self.fail(error)
        except InterruptedStoringError:
            self._is_interrupted = True

    async def _wait_for_seal(self) -> bool:
        """Wait for the seal, if it has begun; False if it has not, or waits for the object store."""
        if self._link_task is not None:
            await self._link_task
        if self._seal_task is None:
            return False
        # A store that is away keeps nobody waiting: the page is given back, and stored later.
        interrupting = self.engine.loop.call_later(self.engine.stop_grace, self.storing.interrupt)
        await self._seal_task
        interrupting.cancel()
        return not self._is_interrupted

    # --- what its worker's capacity depends on ----------------------------------------------------------------

    @property
    def counts_as_in_flight(self) -> bool:
        """Whether it takes a place in flight: not late, nor while it only waits for programs, downloads or the disk."""
        if self.plan.phase in {Phase.FINISHING, Phase.SEALING} or self._waits_for_programs or self._fetching:
            return False
        return not self.is_retry and self.engine.loop.time() < self.late_at

    @property
    def is_in_step(self) -> bool:
        """Whether it may still need the crawl's browser."""
        return self.plan.is_in_step

    @property
    def is_ahead(self) -> bool:
        """Whether it was taken before there is a place for it: it wants a tab, or stands still for want of another."""
        if self.plan.phase is not Phase.STEPS or self.is_retry or self._waits_for_programs:
            return False
        return self.plan.wants_tab or self.plan.is_idle_for(WaitingFor.SLOT)

    @property
    def _waits_for_programs(self) -> bool:
        return self.plan.is_idle_for(WaitingFor.PROGRAM) and not self.plan.is_idle_for(WaitingFor.SLOT)

    # --- ending it otherwise ----------------------------------------------------------------------------------

    async def handle_request(self, event: str) -> None:
        """Give it back (``release``), pause or cancel it: its trees end first, then its rows change."""
        if self._fetching is not None:
            self.storing.interrupt()
            await asyncio.wait([self._fetching])
        if await self._wait_for_seal():
            return
        self._is_cancelled = event == "cancel"
        reason = EndReason.CANCELLED if self._is_cancelled else EndReason.SEALED
        await self.end_everything(reason, self.engine.stop_grace)
        await self.engine.journal.read(end_lease, self.snapshot, event)
        self.finish()

    async def abandon(self) -> None:
        """What was running runs again, with whoever takes its end from the row of its process."""
        self.storing.interrupt()
        await self.end_everything(EndReason.LOST, 0.0)
        self.finish()


def write_facts(snapshot_id: UUID, facts: PageFacts) -> None:
    """Say again what the page is: an effect, since what the refusal told is one that stands before it."""
    Snapshot.objects.filter(pk=snapshot_id).update(
        final_url=facts.final_url, http_status=facts.http_status, mime_type=facts.mime_type
    )


def lacked_machine(result: Outcome) -> bool:
    """Whether a hook that has just ended so may have lacked time or memory that it has on an idle machine."""
    match result.reason:
        case Reason.TIMEOUT | Reason.TEMPORARY_FAILURE:
            return is_busy() or is_short_of_memory()
        case Reason.SIGNALLED:
            return is_short_of_memory()
        case Reason.CRASHED:
            return result.detail.startswith("MemoryError")
        case _:
            return False


def _makes_evidence(hook: Hook) -> bool:
    """Whether it says what each file of the page is."""
    return any(output.role == "evidence" for output in outputs_of(hook.plugin))


def _without_claims(records: Sequence[Record]) -> list[Record]:
    """Records of what is no page: it has no links to follow, and says nothing of the page's title or quality."""
    kept = (record for record in records if record.type not in {"Snapshot", "Tag"} or record.fields.get("id"))
    return [_without_claim(record) if record.type == "Snapshot" else record for record in kept]


def _without_claim(record: Record) -> Record:
    return replace(record, fields={name: value for name, value in record.fields.items() if name not in OF_THE_PAGE})


class PageLimits:
    """How much one page may bring into the collection; what is beyond is left out, and its hook's result says so."""

    def __init__(self, settings: Resolved) -> None:
        self._most = {
            "Snapshot": settings.get_int("MAX_URLS_PER_PAGE"),
            "Tag": TAGS_MAX,
        }
        self._left = dict(self._most)

    def admit(self, records: Sequence[Record]) -> tuple[list[Record], str]:
        """Those of the records that are taken, and the reason code where some are not."""
        taken: list[Record] = []
        beyond = ""
        for record in records:
            if record.type not in self._left or record.fields.get("id"):
                taken.append(record)
            elif self._left[record.type] > 0:
                self._left[record.type] -= 1
                taken.append(record)
            else:
                beyond = Reason.TOO_MUCH_FOUND.of(f"{self._most[record.type]:,} {_WORDS[record.type]}")
        return taken, beyond


_WORDS = {"Snapshot": "links", "Tag": "tags"}
