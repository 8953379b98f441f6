"""Owns what becomes of a Snapshot's results: each run that ends is judged, and its row written."""

from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils import timezone

from archivebox.contract.outcomes import CUT_OFF, PAGE_LOST, Outcome, Status, failure, outcome
from archivebox.contract.reasons import Reason
from archivebox.core.archiveresult import ArchiveResult, settled_columns, store_unless_told, told_by_result
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.hooks import remember_finite
from archivebox.lib.machine_load import is_busy, is_short_of_memory
from archivebox.storage.shared_files import own_files, renew_folder
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.page.refused_page import RefusedPage, was_refused
from archivebox.workers.execute.steps.schedule import Planned

if TYPE_CHECKING:
    from archivebox.workers.execute.page.executor import SnapshotExecutor

TIMES_WHEN_BUSY = 2
"""As many attempts has what failed for want of time or memory; its retry waits for the machine to be idle."""


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


class PageResults:
    """The results of one Snapshot, in memory and on record."""

    def __init__(self, executor: "SnapshotExecutor") -> None:
        self._executor, self._engine = executor, executor.engine
        self._snapshot, self._schedule, self._page = executor.snapshot, executor.schedule, executor.page
        self.refused = RefusedPage(executor, self)
        self._renewed: set[str] = set()
        """Plugins whose folders are this machine's own."""

    def write(self, item: Planned, columns: dict[str, Any]) -> None:
        """Put columns of a result on record; hooks at a seal have none."""
        if item.result_id is not None:
            self._engine.journal.update(ArchiveResult, item.result_id, columns, self._executor.lease)

    def change(self, item: Planned, status: str, columns: dict[str, Any]) -> None:
        """Put a status on record; what is final comes to another one through the queue."""
        lines = ArchiveResultMachine.transitions()
        line = lines[ArchiveResultMachine.BY_STATUS[status]]
        if item.recorded not in line.sources | {status}:
            self.write(item, lines["requeue"].columns_of({}))
        self.write(item, line.columns_of(columns))
        item.recorded = status

    def hook_started(self, item: Planned, run: HookProcess) -> None:
        if self._executor.was_elsewhere:
            self._renew_folder(run)
        if self._executor.sealing.may_have_links:
            own_files(self._snapshot.path, item.hook.plugin)
        columns: dict[str, object] = {"start_ts": timezone.now(), "process_id": run.row.process_id}
        if item.replay:
            self.write(item, columns)
        else:
            self.change(item, "started", columns | {"reason": _kept_reason(item, "")})

    def _renew_folder(self, run: HookProcess) -> None:
        """Before the first of our hooks in it, where one of another machine may still write into it."""
        plugin = run.hook.plugin
        beside = (one for one in self._executor.steps.runs.runs_in_folder_of(run) if one is not run)
        if plugin not in self._renewed and all(one.ended for one in beside):
            renew_folder(self._snapshot.path, plugin)
        self._renewed.add(plugin)

    def back_to_queue(self, item: Planned, reason: str) -> None:
        """Have it run again, in this worker's hands if these keep it."""
        item.status, item.run = "queued", None
        self.change(item, "queued", {"retry_at": timezone.now(), "reason": _kept_reason(item, reason)})

    def settle(self, item: Planned, result: Outcome, reason: str = "", extra: dict[str, Any] | None = None) -> None:
        output = item.run.output if item.run is not None else None
        declared = output.declared if output is not None else None
        lacked = lacked_machine(result)
        limit = self._executor.steps.max_attempts * (TIMES_WHEN_BUSY if lacked else 1)
        columns = settled_columns(
            result, declared, attempts=item.attempts, now=timezone.now(), limit=limit, when_idle=lacked
        )
        left_out = output.left_out if output is not None else ""
        columns["reason"] = (reason or str(columns["reason"]) or left_out)[:128]
        columns |= extra or {}
        item.status, item.reason = str(columns["status"]), str(columns["reason"])
        item.attempts, item.retry_at = int(columns["attempts"]), columns["retry_at"]
        if result.status is Status.QUEUED:
            item.run = None
        self._executor.sealing.final_changed |= not item.hook.derived
        if item.hook.gate and item.status in {"succeeded", "noresults"}:
            self.requeue_skipped(Reason.KEPT_OUT.of(item.hook.plugin))
        self.change(item, item.status, columns)
        if item.result_id is not None:
            self._has_got_on(item)

    def _has_got_on(self, item: Planned) -> None:
        """A worker's death counts against the page only while no result of it becomes final in between."""
        if self._snapshot.attempts and item.is_settled:
            self._snapshot.attempts = 0
            self._engine.journal.update(Snapshot, self._snapshot.pk, {"attempts": 0}, self._executor.lease)

    def requeue_skipped(self, reason: str) -> None:
        """Queue the hooks again that were skipped for a reason that holds no longer."""
        for item in self._schedule.planned:
            if item.status == "skipped" and item.reason == reason:
                self.back_to_queue(item, "")

    # --- a run has ended --------------------------------------------------------------------------------------

    def settle_run(self, item: Planned, run: HookProcess) -> None:
        released = (self._executor.ending or self._engine.stopping) and not self._executor.is_cancelled
        result = self._with_regard_to_page(item, outcome(run.ended_run(released=released)))
        replayed, item.replay = item.replay, False
        if item.result_id is None or (replayed and self._executor.ending):
            item.status = item.final_status or "succeeded"
            return
        if result == CUT_OFF:
            item.hook = remember_finite(item.hook)
        match result.status:
            case _ if replayed and self.refused.is_had_already(item, result):
                self.refused.keep_earlier(item)
            case Status.QUEUED:
                self.back_to_queue(item, result.code)
            case _:
                self._keep(item, run, result)
        if item.hook.opens_page and item.hook.described and _says_in_vain(run):
            self._page_is_gone()

    def _keep(self, item: Planned, run: HookProcess, result: Outcome) -> None:
        """Put a result on record with its files, and do what it means for the rest of the page."""
        earlier = item.reason
        self.settle(item, result, extra=run.listing.columns | {"iface_id": self._interface_of(item, run, result)})
        self.refused.follow(item, earlier)
        told = {} if self.refused.is_kept else told_by_result(item.hook, run.output.declared)
        if told:  # asked here: an effect costs a savepoint, for every hook
            self._engine.journal.effect(partial(store_unless_told, self._snapshot.pk, told), self._executor.lease)
        if not self._snapshot.facts.are_known:
            self._snapshot.http_status = int(told.get("http_status", 0))

    def _interface_of(self, item: Planned, run: HookProcess, result: Outcome) -> UUID | None:
        """By which its connections left; those of a navigation are the browser's."""
        interfaces, crawl_id = self._engine.interfaces, self._snapshot.crawl_id
        found = interfaces.of_process(crawl_id, run.row.process_id)
        if found is None and item.hook.is_navigation and result.status is not Status.FAILED:
            found = interfaces.of_url(crawl_id, self._snapshot.url)
        return found

    def _with_regard_to_page(self, item: Planned, result: Outcome) -> Outcome:
        """Who held, recorded or used the page when it died, or died itself at that, runs again on a new one."""
        if item.hook.session:
            if self._page.is_gone and result.retry:
                return failure(Reason.PAGE_GONE)
            if result.reason is Reason.SIGNALLED and not self._page.is_abandoned:
                result = PAGE_LOST
            is_lost = result.status is Status.QUEUED and item.run not in self._executor.steps.runs.unjudged
        else:
            is_lost = self._lost_its_page(item, result)
            result = PAGE_LOST if is_lost else result
        if is_lost:
            self._page.mark_lost_by(item)
        return result

    def _lost_its_page(self, item: Planned, result: Outcome) -> bool:
        """Whether it failed for want of the page, by its own word or because nobody holds it any more."""
        if result == PAGE_LOST or not item.hook.page:
            return result == PAGE_LOST
        if item.released_page and item.run is not None and item.run.output.declared is None:
            return False  # it broke over what it had taken from there
        return result.status is Status.FAILED and result.retry and not self._page.lives

    def _page_is_gone(self) -> None:
        """Who held it says that it went away for good: what listened to it is not tried again for that either."""
        self._page.is_gone = True
        for item in self._schedule.session_hooks():
            if item.status == "backoff":
                self.settle(item, failure(Reason.PAGE_GONE))


def _says_in_vain(run: HookProcess) -> bool:
    """Whether a hook says that it failed for good; those of the newer dialect always do."""
    return run.output.declared is not None and run.output.declared.is_final_failure


def _kept_reason(item: Planned, reason: str) -> str:
    """The reason of a result that is open again: that of a refusal stays until its navigation has found the page."""
    return item.reason if was_refused(item) and item.hook.session else reason
