"""Owns the steps of one leased object: which of its hooks starts now, and when the next step begins."""

import logging
from dataclasses import replace

from archivebox.config.resolve import SettingError
from archivebox.contract.hooknames import LAST_STEP
from archivebox.contract.outcomes import Outcome, Status, could_not_start
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason
from archivebox.hooks import Call
from archivebox.workers.execute.capacity.slots import SlotPool
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.execute.steps.resources import HookResources
from archivebox.workers.execute.steps.rules import HookResults, HookRules
from archivebox.workers.execute.steps.runs import HookRuns
from archivebox.workers.execute.steps.schedule import Planned, Schedule, WaitingFor
from archivebox.workers.queue.quarantine import end_with_reason, folder_unusable, is_of_folder, misconfigured

log = logging.getLogger(__name__)

WAIT = "\0wait"
"""No program's name: one is still being looked for."""
_LOOKED_FOR = ("succeeded", "failed")


class StepExecutor:
    """Runs the hooks of one leased object, step by step.

    Everything happens in :meth:`advance`, which is called after each event and does what can be done then: nothing in
    here waits. ``rules`` and ``results`` are what differs between kinds of objects.
    """

    def __init__(
        self,
        leased: LeasedItem,
        call: Call,
        schedule: Schedule,
        rules: HookRules,
        results: HookResults,
        *,
        tabs: SlotPool | None = None,
    ) -> None:
        self.leased, self.engine, self.lease = leased, leased.engine, leased.lease
        programs = self.engine.programs
        self.call = replace(call, binaries=programs.paths, versions=programs.versions)
        self.schedule, self.rules, self.results = schedule, rules, results
        self.resources = HookResources(self, tabs)
        self.runs = HookRuns(self)
        self.max_attempts = call.settings.get_int("MAX_ATTEMPTS")
        self.output_max = call.settings.get_int("HOOK_OUTPUT_MAX")
        self._advancing = False
        self._again = False

    def advance(self) -> None:
        """Start what may start, go on to the next step when this one is over, and so on until nothing can be done."""
        if self._advancing or self.leased.ending or self.leased.may_be_lost:
            self._again = True
            return
        self._advancing = True
        try:
            self._again = True
            while self._again and not (self.leased.over.done() or self.leased.may_be_lost):
                self._again = False
                self._advance_once()
        except (OSError, SettingError) as error:
            self.fail(error)
        finally:
            self._advancing = False

    def go_on(self) -> None:
        """Something has changed within a pass: another one follows it."""
        self._again = True

    def fail(self, error: OSError | SettingError) -> None:
        """Its folder or a setting of it cannot be used: its failure alone. Any other error breaks the worker."""
        if isinstance(error, OSError) and not is_of_folder(error):
            raise error
        reason = folder_unusable(error) if isinstance(error, OSError) else misconfigured(error)
        log.warning("%s %s is put aside: %s action=end_with_reason", self.lease.model.__name__, self.lease.pk, error)
        if not self.leased.ending:
            self.leased.ending = True
            self.engine.in_background(self._put_aside(reason))

    async def _put_aside(self, reason: str) -> None:
        await self.end_everything(EndReason.SEALED, self.engine.stop_grace)
        await self.engine.journal.read(end_with_reason, self.lease, reason, self.max_attempts)
        self.leased.finish()

    async def end_everything(self, reason: EndReason, grace: float) -> None:
        """End every tree of this object, and wait until nothing of it is left; nothing is started any more."""
        self.leased.ending = True
        self.resources.release_machine_locks()
        await self.runs.end_all(reason, grace)
        await self.runs.end_orphans(grace)

    def _advance_once(self) -> None:
        for item in self.schedule.may_start():  # one by one: to start one, or to open the page anew, bars others
            self._start(item)
        if not self.schedule.step_is_over():
            return
        if self.schedule.step < LAST_STEP:
            self.schedule.step += 1
            self.rules.before_step()
            self._again = True
        else:
            self.rules.on_steps_ended()

    def _start(self, item: Planned) -> None:
        """Start one hook, or settle it without a process when it cannot run."""
        if item.waiting_for is WaitingFor.SLOT and self.resources.is_still_full(item):
            return  # most tries of a busy worker end here
        if self.rules.facts_pending(item):
            return
        pointless = self.call.settings.reason_to_skip(item.hook) or self.rules.skip_reason(item)
        if pointless is not None:
            self._settle(item, Outcome(Status.SKIPPED, counts=False), pointless)
            return
        missing = self._missing_program(item) if self.engine.disk.has_space() else WAIT
        item.waiting_for = WaitingFor.PROGRAM if missing == WAIT else None
        if item.waiting_for is not None or self.rules.must_wait(item):
            return
        if not self.resources.acquire(item):
            item.waiting_for = WaitingFor.SLOT
        elif missing:
            self.resources.release(item)
            self._settle(item, could_not_start(Reason.MISSING_BINARY), Reason.MISSING_BINARY.of(missing))
        else:
            self.runs.launch(item)

    def _settle(self, item: Planned, result: Outcome, reason: str) -> None:
        self.results.settle(item, result, reason)
        self._again = True

    def _missing_program(self, item: Planned) -> str:
        """A program of its plugin that is not there; WAIT while one is still being looked for."""
        for request in (*self.rules.programs_before(item), *self.call.of_plugin(item.hook).needed):
            status = self.engine.programs.status.get(request.name)
            if status is None:
                self.engine.want_program(request)
            if status not in _LOOKED_FOR:
                return WAIT
            if status == "failed" and not request.optional:
                return request.name
        return ""
