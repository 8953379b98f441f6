"""The hooks of one object (a page, a crawl) as a plan: which of them runs now, and what becomes of those that ended.

Pure: no clock, no rows, no processes, no asyncio. :meth:`HookPlan.next_actions` only reads and says what is to be
done; whoever does it tells what came of it by an event, and :meth:`HookPlan.apply` is the one place where the state
changes. A plan never waits: it is asked again after each event.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.hook import Hook
from archivebox.contract.hooknames import LAST_STEP
from archivebox.contract.ordering import OUTPUT_STEP, Waits, background_step, opening_step, waits
from archivebox.contract.outcomes import Status, could_not_start
from archivebox.contract.reasons import Reason
from archivebox.workers.execute.plan_events import (
    PAGE_FOUND,
    SETTLED,
    SKIPPED,
    Action,
    AwaitProgram,
    BeginStep,
    Done,
    Ended,
    Event,
    Happened,
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

log = logging.getLogger(__name__)

_LOOKED_FOR = frozenset({"succeeded", "failed"})


class HookPlan:
    """The hooks of one object in file-name order, and the step it is in: the contract's chapter on timing."""

    def __init__(
        self,
        planned: Iterable[Planned],
        *,
        reason_to_skip: Callable[[Hook], str | None],
        needed: Callable[[Hook], Iterable[BinaryRequest]],
    ) -> None:
        self.planned = sorted(planned, key=lambda item: item.hook.sort_key)
        self.step = 0
        self.is_leaving = False
        self.decided: list[Action] = []
        """What follows from what has happened, and is still to be done, whatever else may start."""
        self._reason_to_skip, self._needed = reason_to_skip, needed
        self._programs: dict[str, str] = {}
        self._latest: datetime | None = None
        """The latest moment that is known of, once all that ran when the object was claimed has been told of."""
        self._exclusive = [item for item in self.planned if item.hook.exclusive]
        self.navigations = [item for item in self.planned if item.hook.is_navigation]
        self.first_navigations = [item for item in self.navigations if item.step == self.navigations[0].step]
        order = _order(tuple(item.hook for item in self.planned))
        item_of = {item.hook: item for item in self.planned}
        self._after = {item_of[hook]: [item_of[one] for one in ones] for hook, ones in order.after.items()}
        self._ready = {item_of[hook]: [item_of[one] for one in ones] for hook, ones in order.ready.items()}
        self._giving_way = {item_of[hook] for hook in order.giving_way}
        self._place()
        self._awaited = {one for item, ones in self._after.items() if not item.hook.derived for one in ones}

    def _place(self) -> None:
        """A hook of a late step that needs the page runs with the outputs, unless it waits for something later.

        One of an early step in the background starts with the page: not to wait for that as a process.
        """
        opening = opening_step(item.hook for item in self.planned)
        for item in self.planned:
            if item.hook.background:
                item.step = background_step(item.hook, opening)
            elif item.hook.page and item.step > OUTPUT_STEP:
                before = [*self._after.get(item, ()), *self._ready.get(item, ())]
                item.step = max((other.step for other in before if other.step > OUTPUT_STEP), default=OUTPUT_STEP)
        self.planned.sort(key=lambda item: (item.step, item.hook.sort_key))

    # --- what is to be done: only reads -----------------------------------------------------------------------

    def next_actions(self, now: float) -> list[Action]:
        """What can be done now, in this order; to be asked again until nothing is left. ``now``: loop time."""
        if self.decided or self.is_leaving or any(item.is_unjudged for item in self.planned):
            return list(self.decided)
        actions: list[Action] = []
        for item in self.may_start():
            action = self._turn_of(item, now) if item.waiting_for is None else None
            if action is None:
                continue
            actions.append(action)
            if not isinstance(action, Start | AwaitProgram) and not _only_skips(action):
                return actions  # it may bar those behind it
        if actions or not self.step_is_over():
            return actions
        return [BeginStep(self.step + 1)] if self.step < LAST_STEP else self._after_steps()

    def _after_steps(self) -> list[Action]:
        """What follows the last step; background hooks may still run."""
        return []

    def _turn_of(self, item: Planned, now: float) -> Action | None:
        """What to do with a hook whose turn it is; None: it waits."""
        del now
        if (pointless := self._pointless(item)) is not None:
            return Settle(item, SKIPPED, pointless)
        for request in self._programs_of(item):
            status = self._programs.get(request.name)
            if status not in _LOOKED_FOR:
                return AwaitProgram(item, request)
            if status == "failed" and not request.optional:
                return self._start(item, missing=request.name)
        return self._start(item)

    def _pointless(self, item: Planned) -> str | None:
        """The reason code by which a hook is skipped without a process; None: it applies."""
        return self._reason_to_skip(item.hook)

    def _programs_of(self, item: Planned) -> Iterable[BinaryRequest]:
        return self._needed(item.hook)

    def _start(self, item: Planned, missing: str = "") -> Action | None:
        """Start a hook, or say what it lacks."""
        if missing:
            return Settle(item, could_not_start(Reason.MISSING_BINARY), Reason.MISSING_BINARY.of(missing))
        return Start(item)

    def may_start(self) -> Iterator[Planned]:
        """Queued hooks of this and earlier steps whose turn it is."""
        claimed = {name for item in self._exclusive if item.is_running for name in item.holds}
        for item in self.planned:
            if item.step > self.step:
                return
            if item.status != "queued":
                continue
            unblocked = self._is_unblocked(item)
            if unblocked and claimed.isdisjoint(item.hook.exclusive):
                yield item
            # Holders of one resource go in file-name order: who waits for it keeps those behind from it.
            if unblocked or item not in self._giving_way:
                claimed.update(item.hook.exclusive)

    def _is_unblocked(self, item: Planned) -> bool:
        if item.hook.derived and not self._sources_are_final(item):
            return False
        if not all(other.is_over for other in self._after.get(item, ())):
            return False
        if item.is_page_bound and not all(other.is_settled for other in self.first_navigations):
            return False
        return all(other.is_ready or not other.is_expected for other in self._ready.get(item, ()))

    def _sources_are_final(self, item: Planned) -> bool:
        """Whether what a derived hook is made from is; downloads are not waited for: it is made again after them.

        Nor is what comes after it, where a hook that is not derived waits for it.
        """
        held_up = item in self._awaited
        return all(
            one.is_settled or (one.hook.background and one.hook.finite) or (held_up and one.step >= item.step)
            for one in self.sources_of(item)
        )

    def sources_of(self, item: Planned) -> list[Planned]:
        """What a derived hook is made from: the hooks of the plugins that it names, or all but those derived later."""
        if item.hook.sources:
            return [other for other in self.planned if other.hook.plugin in item.hook.sources]
        key = item.hook.sort_key
        return [other for other in self.planned if not other.hook.derived or other.hook.sort_key < key]

    def step_is_over(self) -> bool:
        """Whether every foreground hook up to this step is final or in back-off; what is derived holds up none."""
        for item in self.planned:
            if item.step > self.step:
                return True
            if item.status in SETTLED or item.hook.derived:
                continue
            if not item.hook.background or (item.status == "queued" and not item.hook.finite):
                return False
        return True

    @property
    def runs_nothing(self) -> bool:
        return not any(item.is_running for item in self.planned)

    # --- what has happened: the only place where the state changes ----------------------------------------------

    def apply(self, event: Event) -> None:
        """Take note of what has happened."""
        match event:
            case Started(item=item):
                item.has_run = item.is_running = True
                item.has_exited = item.is_unjudged = event.unwatched
                item.said_ready, item.is_late, item.is_stopping, item.waiting_for = event.is_ready, False, False, None
                item.status, item.started_at, item.ended_at = "started", self._in_order(event.at), event.ended_at
            case NotStarted(item=item):
                item.waiting_for = event.waiting_for
            case Happened(Sign.READY, Planned() as item):
                item.said_ready = True
            case Happened(Sign.LATE, Planned() as item):
                item.is_late = True
            case Happened(Sign.EXITED, Planned() as item):
                item.has_exited = True
            case Happened(Sign.PLACE_FREE):
                self._wait_no_more(WaitingFor.SLOT)
            case Happened(Sign.TAKEN_OVER):
                known = (moment for item in self.planned for moment in (item.started_at, item.ended_at))
                self._latest = max(filter(None, known), default=datetime.min.replace(tzinfo=UTC))
            case Happened(Sign.LEAVING):
                self.is_leaving = True
            case Ended(item=item):
                item.is_running, item.has_exited = False, True
                item.ended_at = event.at if item.is_unjudged else self._in_order(event.at)
            case Settled(action=Settle(item=item)):
                item.status, item.attempts, item.reason = event.status, event.attempts, event.reason
                item.retry_at, item.waiting_for = event.retry_at, None
            case Done(Stop(items=items)):
                for item in items:
                    item.is_stopping = True
            case Done(BeginStep(step=step)):
                self.step = step
            case ProgramsKnown(programs=programs):
                self._programs = programs
                self._wait_no_more(*WaitingFor)
        self.decided = [action for action in self.decided if action is not getattr(event, "action", None)]

    def _in_order(self, at: datetime | None) -> datetime | None:
        """The moment of what has just happened, after all that happened before; a clock may have been set back."""
        if at is None or self._latest is None:
            return at
        self._latest = max(at, self._latest + timedelta.resolution)
        return self._latest

    def _wait_no_more(self, *those: WaitingFor) -> None:
        for item in self.planned:
            if item.waiting_for in those:
                item.waiting_for = None


def _only_skips(action: Action) -> bool:
    return isinstance(action, Settle) and action.result.status is Status.SKIPPED


@lru_cache(maxsize=16)
def _order(hooks: tuple[Hook, ...]) -> Waits:
    """Who waits for whom: worked out, and what had to be ignored told, once for each set of hooks."""
    order = waits(hooks)
    for warning in order.warnings:
        log.warning("%s action=after_ignored", warning)
    return order


class LatestRun(NamedTuple):
    """The last run of a hook, as the row of its process has it."""

    key: UUID
    is_running: bool
    ended_at: datetime | None


def is_unjudged(
    hook: Hook, status: str, settled_at: datetime | None, run_on_record: UUID | None, run: LatestRun | None
) -> bool:
    """Whether the latest run of a result is still to be judged: it runs, or ended while nobody had it.

    A worker may die after a start and before that is committed: the run has a row then, by the spawn log, of which the
    result, with ``run_on_record``, knows nothing. The result of a session hook that is run again stays until then.
    """
    if status == "started" or run is None or run.is_running:
        return status == "started" or run is not None
    if hook.session and status in PAGE_FOUND and run.ended_at is not None:
        return settled_at is None or settled_at < run.ended_at
    return status in {"queued", "backoff"} and run.key != run_on_record
