"""Owns what hooks of a Snapshot wait for: what the page is, its tab, and what is tried again."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from archivebox.config.resolve import Resolved
from archivebox.contract.hook import TAB
from archivebox.contract.outcomes import OF_THE_ADDRESS, Outcome, Status, failure
from archivebox.contract.reasons import Reason, split
from archivebox.contract.records import Record
from archivebox.core.snapshot import Snapshot
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.page.rows import ingest_records
from archivebox.workers.execute.steps.rules import HookRules
from archivebox.workers.execute.steps.schedule import Planned

if TYPE_CHECKING:
    from archivebox.workers.execute.page.executor import SnapshotExecutor

TAGS_MAX = 1_000
"""Tags taken from one page."""


class PageRules(HookRules):
    """The rules of one Snapshot's hooks."""

    def __init__(self, executor: "SnapshotExecutor", settings: Resolved) -> None:
        self._executor, self._engine = executor, executor.engine
        self._snapshot, self._schedule = executor.snapshot, executor.schedule
        self._page, self._results = executor.page, executor.results
        self._settings, self._limits = settings, PageLimits(settings)

    def work_of(self, item: Planned) -> dict[str, UUID]:
        work = {"snapshot_id": self._snapshot.pk, "crawl_id": self._snapshot.crawl_id}
        return work | ({"archiveresult_id": item.result_id} if item.result_id is not None else {})

    def before_step(self) -> None:
        columns = {"current_step": self._schedule.step}
        self._engine.journal.update(Snapshot, self._snapshot.pk, columns, self._executor.lease)

    def on_steps_ended(self) -> None:
        self._executor.sealing.advance()

    # --- what the page is -------------------------------------------------------------------------------------

    def facts_pending(self, item: Planned) -> bool:
        """A condition on type or status is judged once the navigations before it are over; they tell both.

        What is in the background and ends by itself holds up no step, so it waits for the first of them in any case.
        """
        return not all(navigation.is_settled for navigation in self._navigations_for(item))

    def _navigations_for(self, item: Planned) -> list[Planned]:
        """Those that are still to tell whether a hook applies."""
        if not item.hook.applies.needs_facts or self._snapshot.facts.are_known:
            return []
        before = [one for one in self._schedule.navigations if one.hook.sort_key < item.hook.sort_key]
        return before + self._schedule.first_navigations * (item.hook.background and item.hook.finite)

    def skip_reason(self, item: Planned) -> str | None:
        if item.replay:
            return None
        if gate := self._schedule.failed_gate(item):
            return Reason.KEPT_OUT.of(gate.hook.plugin)
        if item.hook.page and not item.hook.session and self._nobody_answered:
            return Reason.NOTHING_CAME.value
        return self._snapshot.reason_against(item.hook, self._settings)

    @property
    def _nobody_answered(self) -> bool:
        """Whether the navigations that were to load the page have told that nothing came from its address.

        One that failed for another reason, as its tab died, runs again with the hooks that need the page.
        """
        of_address = OF_THE_ADDRESS | {Reason.DECLARED}
        told = (one.is_settled and split(one.reason)[0] in of_address for one in self._schedule.first_navigations)
        return self._snapshot.facts.nothing_came and all(told)

    def ingest_records(self, run: HookProcess, records: Sequence[Record]) -> bool:
        for record in records:
            if record.type == "Snapshot" and record.fields.get("id") == str(self._snapshot.pk):
                self._learn(record)
        taken, beyond = self._limits.admit(self._results.refused.without_claims(records))
        run.output.left_out = run.output.left_out or beyond
        if taken:
            apply = partial(ingest_records, self._snapshot.pk, run.row.process_id)
            self._executor.steps.runs.ingest(run, apply, taken, self._executor.lease)
        return bool(taken)

    def _learn(self, record: Record) -> None:
        """What a hook tells of the page; where nothing came the last time and now does, who applies is judged anew."""
        nothing_came = self._snapshot.facts.nothing_came
        self._snapshot.learn(record.fields)
        if nothing_came and self._snapshot.facts.are_known:
            self._results.requeue_skipped(Reason.NOTHING_CAME)

    # --- its tab ----------------------------------------------------------------------------------------------

    def must_wait(self, item: Planned) -> bool:
        """A hook that needs the live page waits until there is one again; session hooks are run anew for it."""
        if self._is_put_off(item) or (item.hook.page and not self._has_reacquired_tab()):
            return True
        if item.hook.opens_page and item.hook.plugin in self._engine.unstartable.get(self._snapshot.crawl_id, ()):
            self._results.settle(item, failure(Reason.NO_SESSION))
            self._executor.steps.go_on()
            return True
        if item.hook.page and not item.hook.session and self._page.is_blank:
            self._page.mark_lost()
        if not (item.hook.page or item.hook.session) or self._page.is_open_for(item):
            return False
        if self._page.is_gone:
            self._results.settle(item, failure(Reason.PAGE_GONE))
        elif self._page.is_abandoned:
            self._results.settle(item, failure(Reason.NO_SESSION))
        elif remains := self._page.remains():
            self._executor.steps.runs.stop_background(remains, self._engine.seal_grace)
            return True  # the end of the last of them leads here again
        else:
            self._page.reopen()
        self._executor.steps.go_on()
        return True

    def _is_put_off(self, item: Planned) -> bool:
        """Whether a navigation that would have told if a hook applies failed, and is tried again: so is the hook."""
        navigation = next((one for one in self._navigations_for(item) if one.status == "backoff"), None)
        if navigation is not None:
            result = Outcome(Status.FAILED, Reason.NOTHING_CAME, retry=True, counts=False)
            moment = {"retry_at": navigation.retry_at} if navigation.retry_at else None
            self._results.settle(item, result, extra=moment)
            self._executor.steps.go_on()
        return navigation is not None

    def on_hook_waiting(self, item: Planned) -> None:
        """One that holds the tab keeps all others from it: the page stands aside, and goes on once it has ended."""
        if TAB in item.holds:
            self._executor.late_at = self._engine.loop.time()
            self._page.yield_tab(item)
            self._engine.on_capacity()

    def _has_reacquired_tab(self) -> bool:
        """Whether its tab is among those at work: where it stood aside it takes a place again, if there is one."""
        came_back = self._page.reacquire()
        if came_back is None:
            self._executor.tabs.notify_when_free(self._executor.advance)
            return False
        for tab in came_back:
            self._executor.steps.resources.watch_slot(tab)
        return True


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
