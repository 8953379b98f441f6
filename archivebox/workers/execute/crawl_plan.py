"""The hooks of a crawl on one machine as a plan: when Snapshots may use what they hold, and what of them starts again.

Pure, like :mod:`hook_plan`, which has what all objects with hooks have in common.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.hook import Hook
from archivebox.contract.outcomes import Status, outcome
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason
from archivebox.workers.execute.hook_plan import HookPlan
from archivebox.workers.execute.plan_events import (
    Action,
    Done,
    Ended,
    Event,
    Happened,
    Planned,
    ProgramAsked,
    SayReady,
    Settle,
    Settled,
    Sign,
)

MOST_RESTARTS = 3
"""How often a dead background hook is started again at once without a Snapshot sealed in between."""
LONGEST_PAUSE = 30.0
"""Seconds for which one waits at most that has died more often than that."""


class CrawlRunPlan(HookPlan):
    """The hooks of a crawl on one machine. They have no results: what counts is which failed."""

    def __init__(
        self,
        planned: Iterable[Planned],
        *,
        reason_to_skip: Callable[[Hook], str | None],
        needed: Callable[[Hook], Iterable[BinaryRequest]],
        is_ready: bool,
    ) -> None:
        super().__init__(planned, reason_to_skip=reason_to_skip, needed=needed)
        self.is_ready = is_ready
        self.is_preempted = False
        self.failures: list[str] = []
        self.hopeless: set[str] = set()
        """Plugins whose hook, such as the browser, died too often before it was ready."""
        self.not_before = 0.0
        """Loop time before which no hook that has died again and again is started anew."""
        self._restarts = 0
        """Starts after a death, since a Snapshot was sealed."""
        self._failed_starts = 0
        """Deaths in a row before it was ready, since then as well."""
        self._requests: list[tuple[str, BinaryRequest]] = []
        """Programs that hooks of the crawl have asked for, each with the file name of the hook."""

    def _turn_of(self, item: Planned, now: float) -> Action | None:
        return None if item.hook.background and now < self.not_before else super()._turn_of(item, now)

    def _programs_of(self, item: Planned) -> Iterable[BinaryRequest]:
        """Hooks of both earlier dialects ask for the programs of those after them, which also run without them."""
        asked = (request for file_name, request in self._requests if file_name < item.hook.file_name)
        return (*asked, *super()._programs_of(item))

    def _after_steps(self) -> list[Action]:
        """Ready once its foreground hooks are final and its ready-declaring ones are ready, ended or late."""
        background = (item for item in self.planned if item.hook.background and item.hook.ready)
        is_due = not (self.is_ready or self.is_preempted) and all(item.is_ready for item in background)
        return [SayReady(is_ready=True)] if is_due else []

    def apply(self, event: Event) -> None:
        super().apply(event)
        match event:
            case Ended():
                self._judge(event)
            case Settled(action=Settle(item=item, result=result)) if event.status == "failed":
                self.failures.append(event.reason or f"{result.reason}:{item.hook.file_name}")
            case ProgramAsked(item=item, request=request):
                self._requests.append((item.hook.file_name, request))
            case Done(SayReady(is_ready=is_ready)):
                self.is_ready = is_ready
            case Happened(Sign.PREEMPTED):
                self.is_preempted = True
                self.decided.append(SayReady(is_ready=False))
            case Happened(Sign.PAGE_SEALED):
                self._restarts = self._failed_starts = 0

    def _judge(self, event: Ended) -> None:
        """See whether one failed that nobody had told to stop.

        One whose end nobody saw runs again, as with pages; of what runs in the background that is a failure as others.
        """
        item, end, result = event.item, event.end, outcome(event.end)
        item.is_unjudged = False
        if result.reason is Reason.LOST and not item.hook.background:
            item.status, item.has_run = "queued", False
            return
        told_to_stop = end.end_reason in {EndReason.SEALED, EndReason.CANCELLED}
        failed = not told_to_stop and result.status in {Status.FAILED, Status.QUEUED}
        item.status = "failed" if failed else "succeeded"
        if failed:
            self.failures.append(end.refused or Reason.HOOK_FAILED.of(item.hook.file_name))
        if not self.is_leaving and failed and item.hook.background and end.end_reason is not EndReason.TIMEOUT:
            self._start_again(item, event.now)

    def _start_again(self, item: Planned, now: float) -> None:
        """A dead background hook alone is started again; what it was ready for is not, until it is ready anew.

        One that had been ready is started however often it dies, but later and later: pages are tried only so often.
        One that never gets ready is not started any more, and the tabs that rely on it fail.
        """
        self.decided.append(SayReady(is_ready=False))
        self._failed_starts = 0 if item.said_ready else self._failed_starts + 1
        if self._failed_starts > MOST_RESTARTS:
            self.hopeless.add(item.hook.plugin)
            return
        self._restarts += 1
        item.status, item.has_run, item.is_late = "queued", False, False
        if self._restarts > MOST_RESTARTS:
            self.not_before = now + min(2.0 ** (self._restarts - MOST_RESTARTS), LONGEST_PAUSE)


def ran_with(item: Planned, started_at: datetime | None, running: Planned) -> bool:
    """Whether an ended hook ran in the same run of the crawl as one that still runs: before that began, or after."""
    began = running.started_at
    is_later = began is not None and started_at is not None and started_at >= began
    return item.hook.sort_key < running.hook.sort_key or is_later
