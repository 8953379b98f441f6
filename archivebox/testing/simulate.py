"""Random lives of pages over the plan that workers use, with what is promised of their order and fate checked.

``python -m archivebox.testing.simulate 100000`` runs so many. A life is decided by its seed alone: which hooks there
are, how their processes end and when, whether there are slots, and by how much the clock jumps. The seed also decides
when the worker is killed (also between an action and its event), loses its lease, or gives the page back. Rows are in a
journal in memory that commits in batches and checks fences; processes outlive their worker, as on a machine.
"""

import random
import sys
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from archivebox.contract.applies import PageFacts
from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.failures import BY_KILL
from archivebox.contract.hook import Hook
from archivebox.contract.outcomes import FINAL_STATUSES, Status, could_not_start
from archivebox.contract.reasons import split
from archivebox.contract.records import EndReason
from archivebox.testing.simulated_hooks import (
    BrokenPromiseError,
    SimulatedRun,
    broken_in,
    end_of,
    fate_of,
    hook_named,
    some_hooks,
)
from archivebox.workers.execute.hook_plan import LatestRun, is_unjudged
from archivebox.workers.execute.page_plan import PagePlan
from archivebox.workers.execute.plan_events import (
    Action,
    AwaitProgram,
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
    ProgramsKnown,
    ReacquireTab,
    Requeue,
    Settle,
    Settled,
    Sign,
    Start,
    Started,
    Stop,
    WaitingFor,
    YieldTab,
)

MAX_ATTEMPTS = 3
MOST_MOMENTS = 4_000
"""Moments after which a life counts as one that never ends."""
MOST_ACTIONS = 500
"""Actions between two events after which a plan counts as one that never rests."""
CALM_AFTER = 600
"""Moments after which nothing odd happens any more, so that a life can end."""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
PROGRAM = BinaryRequest("wget")


@dataclass(slots=True)
class ResultRow:
    """The row of a result."""

    status: str = "queued"
    attempts: int = 0
    reason: str = ""
    retry_at: datetime | None = None
    run: UUID | None = None
    settled_at: datetime | None = None

    def update(self, columns: Mapping[str, object]) -> None:
        for name, value in columns.items():
            setattr(self, name, value)


@dataclass(slots=True)
class Rows:
    """What is in the database."""

    results: dict[str, ResultRow]
    facts: PageFacts = field(default_factory=PageFacts)
    status: str = "queued"
    fence: int = 0


class Life:
    """One page, its hooks and its workers, one after the other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a life, no secret
        self.hooks = list(some_hooks(self.random))
        self.rows = Rows({hook.file_name: ResultRow() for hook in self.hooks})
        self.runs: list[SimulatedRun] = []
        self.now = BEGAN
        self.moments = 0
        self.epoch = 0
        self.may_run_again: set[str] = set()
        """Hooks that were queued again on purpose although they had been final."""
        self.programs: dict[str, str] = {}
        self.worker: SimulatedWorker | None = None
        self.stalled: list[SimulatedWorker] = []
        """Workers that have lost their lease and do not know yet."""
        self.count = 0
        """Of all that happened to processes."""
        self.was_set_back = False
        """Whether the clock was: no worker is lost after that; the next one might read a wrong order from the rows."""
        self.log: list[str] = []

    def chance(self, percent: float) -> bool:
        return self.random.random() * 100 < percent

    @property
    def is_calm(self) -> bool:
        return self.moments > CALM_AFTER

    def live(self) -> None:
        """From the first claim to the last seal; BrokenPromiseError where a promise is not kept."""
        while self.rows.status != "sealed" or any(row.retry_at for row in self.rows.results.values()):
            self.moments += 1
            if self.moments > MOST_MOMENTS:
                raise BrokenPromiseError(f"the page never ends: {self.rows}")
            if self.worker is None:
                self._claim()
            else:
                self._something_happens(self.worker)
        for name, row in self.rows.results.items():
            self.promise(row.status in FINAL_STATUSES, f"{name} has no result")
            by_kill = row.status == "failed" and split(row.reason)[0] in BY_KILL and row.attempts < MAX_ATTEMPTS
            self.promise(not by_kill, f"{name} has failed permanently by what passes")

    def promise(self, is_kept: bool, what: str) -> None:
        if not is_kept:
            raise BrokenPromiseError(what)

    def _claim(self) -> None:
        if self.rows.status == "sealed":
            due = min(row.retry_at for row in self.rows.results.values() if row.retry_at)
            self.now = max(self.now, due)
        self.rows.fence += 1
        self.rows.status = "started"
        self.worker = SimulatedWorker(self, self.rows.fence)
        self.worker.begin()

    # --- what happens, and when -------------------------------------------------------------------------------

    def _something_happens(self, worker: "SimulatedWorker") -> None:
        self.now += timedelta(seconds=self.random.choice((0, 0.001, 0.1, 1, 20, 4000)))
        odd = self.random.random() * 100 if not self.is_calm else 100.0
        if odd < 0.1:
            self.now -= timedelta(hours=self.random.choice((0.01, 1, 24)))
            self.was_set_back = True
        elif odd < 2.8 and self.was_set_back:
            pass
        elif odd < 1.5:
            self.log.append("killed")
            self.worker = None
        elif odd < 2.2:
            self.log.append("lease lost")
            self.worker = None
            self.stalled.append(worker)
        elif odd < 2.8 and worker.plan.phase is not Phase.SEALING:
            worker.release()
        elif odd < 3.2:
            worker.handle(Happened(Sign.PROXY_DIED))
        elif self.stalled and (odd < 8 or self.is_calm):
            self.stalled.pop().abandon()
        elif odd < 25:
            worker.commit()
        else:
            self._a_process_moves(worker)

    def _a_process_moves(self, worker: "SimulatedWorker") -> None:
        watched = [(item, run) for item, run in worker.of.items() if run is not None]
        choices = [one for one in watched if self._may_move(*one)]
        if choices and not self.chance(10):
            worker.move(*self.random.choice(choices))
            return
        if worker.waits_for_place or self.chance(20):
            worker.waits_for_place = False
            worker.handle(Happened(Sign.PLACE_FREE))
        if PROGRAM.name in worker.wanted or self.chance(10):
            self.programs.setdefault(PROGRAM.name, self.random.choice(("succeeded", "succeeded", "failed")))
            worker.handle(ProgramsKnown(dict(self.programs)))
        if worker.plan.phase is Phase.LINKING:
            plugins = [hook.plugin for hook in self.hooks if self.chance(20)]
            worker.handle(Linked(frozenset(plugins)))
        elif worker.plan.phase is Phase.SEALING:
            worker.seal()

    def _may_move(self, item: Planned, run: SimulatedRun) -> bool:
        """Whether something is still to happen to it: what works until it is stopped does nothing by itself."""
        if not run.is_alive or run.told is not None or run.fate != "listens":
            return True
        return item.hook.ready and not (item.said_ready or item.is_late)

    def tick(self) -> int:
        self.count += 1
        return self.count

    def end(self, run: SimulatedRun, exit_code: int | None) -> None:
        """A process exits."""
        if run.is_alive:
            run.ended, run.exit_code, run.order = self.now, exit_code, (run.order[0], self.tick())


class SimulatedWorker:
    """The shell of one lease: does what the plan says with rows and processes in memory."""

    def __init__(self, life: Life, fence: int) -> None:
        self.life, self.fence = life, fence
        self.of: dict[Planned, SimulatedRun] = {}
        """Runs that are still to end in its hands."""
        self.batch: list[tuple[str, dict[str, object]]] = []
        self.pending: dict[str, ResultRow] = {name: copy(row) for name, row in life.rows.results.items()}
        """Results as they are once its batch is committed."""
        self.facts = life.rows.facts
        self.waits_for_place = False
        self.wanted: set[str] = set()
        self.plan = self._load()
        for run in self.life.runs:
            if run.hook.name.event == "SnapshotEnd":  # what nobody goes on with is ended
                self.life.end(run, -9)

    def _load(self) -> PagePlan:
        planned = []
        for hook in self.life.hooks:
            row = self.life.rows.results[hook.file_name]
            item = Planned(hook, row.status, UUID(int=1), row.attempts, reason=row.reason)
            run = next((run for run in reversed(self.life.runs) if run.name == hook.file_name), None)
            item.started_at, item.ended_at = (run.began, run.ended) if run is not None else (None, None)
            is_due = row.retry_at is not None and row.retry_at <= self.life.now
            latest = LatestRun(run.key, run.is_alive, run.ended) if run is not None else None
            if is_unjudged(hook, row.status, row.settled_at, row.run, latest):
                if run is not None:
                    self.of[item] = run
                elif row.status not in FINAL_STATUSES:
                    item.status = "queued"
            elif is_due:
                item.status = "queued"
            planned.append(item)
        return PagePlan(
            planned,
            self.facts,
            reason_to_skip=lambda _: None,
            reason_against=lambda hook, facts: hook.applies.reason_against("http://one.test/", facts),
            needed=lambda hook: [PROGRAM] if hook.plugin == "wget" else [],
            max_attempts=MAX_ATTEMPTS,
            end_hooks=[Planned(hook_named("on_SnapshotEnd__10_end.py"))] if self.life.chance(20) else [],
            makes_evidence=lambda hook: hook.plugin == "hashes",
            may_link=self.life.chance(20),
        )

    def begin(self) -> None:
        for item, run in self.of.items():
            run.is_unwatched = not run.is_alive
            self.plan.apply(Started(item, run.began, run.is_ready, run.is_unwatched, run.ended))
        self.plan.apply(Happened(Sign.TAKEN_OVER))
        self.handle(ProgramsKnown(dict(self.life.programs)))

    # --- the loop ---------------------------------------------------------------------------------------------

    def handle(self, event: Event) -> None:
        self.plan.apply(event)
        count = 0
        while self.life.worker is self and (actions := self.plan.next_actions(0.0)):
            for action in actions:
                count += 1
                if count > MOST_ACTIONS:
                    raise BrokenPromiseError(f"the plan never rests: {action}")
                answer = self.perform(action)
                if not (self.life.is_calm or self.life.was_set_back) and self.life.chance(0.3):
                    self.life.log.append(f"killed at {type(action).__name__}")
                    self.life.worker = None
                    return
                self.plan.apply(answer)
                if isinstance(action, Start) and isinstance(answer, Settled):
                    break

    def perform(self, action: Action) -> Event:
        match action:
            case Start(item=item):
                return self._start(action, item)
            case AwaitProgram(item=item, request=request):
                self.wanted.add(request.name)
                return NotStarted(item, WaitingFor.PROGRAM)
            case Settle():
                return self._settle(action)
            case Requeue(item=item):
                if self.pending[item.hook.file_name].status in FINAL_STATUSES:
                    self.life.may_run_again.add(item.hook.file_name)
                self._write(item.hook, status="queued", retry_at=self.life.now, reason=action.reason)
                if action.was_cut_off:
                    self.life.hooks = [item.hook if one.path == item.hook.path else one for one in self.life.hooks]
                return Done(action)
            case KeepEarlier(facts=facts):
                self.facts = facts
                return Done(action, self.life.now + timedelta(seconds=60))
            case OpenAnew():
                self._check_loss()
                self.life.epoch += 1
                return Done(action, self.life.now)
            case YieldTab():
                return Done(action)
            case ReacquireTab(item=item):
                return self._not_now(item) if self.life.chance(30) else Done(action)
            case BeginStep():
                return Done(action)
            case Stop(items=items):
                for item in items:
                    is_deaf = item.hook.ready and not (item.is_ready or action.loses_page)
                    self.life.promise(not is_deaf, f"{item.hook.file_name} is told to end before it is ready")
                    self.of[item].told = self.of[item].told or EndReason.SEALED
                return Done(action)
            case Enter():
                return Done(action)
            case _:
                raise AssertionError(action)

    def _not_now(self, item: Planned) -> Event:
        self.waits_for_place = True
        return NotStarted(item, WaitingFor.SLOT)

    def _start(self, action: Start, item: Planned) -> Event:
        if not action.at_end and self.life.chance(20):
            return self._not_now(item)
        if self.life.chance(0.5):
            return self._settle(Settle(item, could_not_start(), "could_not_start:"))
        self._check_start(item)
        key = UUID(int=len(self.life.runs) + 1)
        run = SimulatedRun(
            key,
            item.hook,
            self.life.now,
            fate_of(item.hook, self.life.random, is_calm=self.life.is_calm),
            self.life.epoch,
            self.fence,
        )
        self.life.now += timedelta(microseconds=1)
        run.order = (self.life.tick(), 0)
        self.life.runs.append(run)
        self.of[item] = run
        if item.result_id is not None:
            self._write(item.hook, run=key, **({} if item.replay else {"status": "started", "reason": ""}))
        return Started(item, run.began)

    def _settle(self, action: Settle) -> Event:
        item, result = action.item, action.result
        attempts = item.attempts + (1 if result.counts else 0)
        is_tried_again = result.retry and attempts < MAX_ATTEMPTS
        status = "backoff" if is_tried_again else str(result.status)
        retry_at = self.life.now + timedelta(seconds=60 * 4**attempts) if is_tried_again else None
        reason = action.reason or result.code
        retry_at = action.retry_at or retry_at
        if item.result_id is not None:
            self._write(
                item.hook, status=status, attempts=attempts, reason=reason, retry_at=retry_at, settled_at=self.life.now
            )
        return Settled(action, status, attempts, reason, retry_at)

    # --- the journal ------------------------------------------------------------------------------------------

    def _write(self, hook: Hook, **columns: object) -> None:
        name = hook.file_name
        self.batch.append((name, columns))
        self.pending[name].update(columns)

    def commit(self) -> bool:
        """Write what was gathered, unless the lease is lost."""
        if self.life.rows.fence != self.fence:
            return False
        for name, columns in self.batch:
            self.life.rows.results[name].update(columns)
        self.life.rows.facts = self.facts
        self.batch.clear()
        return True

    # --- processes --------------------------------------------------------------------------------------------

    def move(self, item: Planned, run: SimulatedRun) -> None:
        """The next thing that happens to a process."""
        if not run.is_alive:
            self._ended(item, run)
        elif run.hook.ready and not (run.is_ready or item.is_late) and run.told is None:
            if self.life.chance(5):
                self.handle(Happened(Sign.LATE, item))
            else:
                run.is_ready = True
                self.handle(Happened(Sign.READY, item))
        elif run.fate == "waits" and not run.is_waiting:
            run.is_waiting = True
            self.handle(Happened(Sign.WAITING, item))
        else:
            self._exits(item, run)

    def _exits(self, item: Planned, run: SimulatedRun) -> None:
        if run.hook.is_navigation and run.fate in {"succeeded", "nothing_came", "refused"}:
            facts = PageFacts("http://one.test/", *((0, "") if run.fate == "nothing_came" else (200, "text/html")))
            self.facts = facts
            self.plan.apply(Learned(facts))
        codes = {"crashed": 1, "killed": -9, "skipped": 10}
        stopped = 0 if run.fate in {"listens", "succeeded"} else -15
        self.life.end(run, stopped if run.told else codes.get(run.fate, 0))
        self.plan.apply(Happened(Sign.EXITED, item))
        if self.life.chance(50):
            self._ended(item, run)

    def _ended(self, item: Planned, run: SimulatedRun) -> None:
        del self.of[item]
        end = end_of(run, taken_over=run.worker != self.fence, released=self.plan.is_leaving)
        in_vain = end.declared is Status.FAILED and end.again is None
        self.handle(Ended(item, end, run.ended, in_vain=in_vain))

    def release(self) -> None:
        """Give the page back: its trees end first, then its rows change."""
        self.life.log.append("released")
        self.plan.apply(Happened(Sign.LEAVING))
        for item, run in list(self.of.items()):
            run.told = run.told or EndReason.SEALED
            self.life.end(run, self.life.random.choice((0, -15)))
            self._ended(item, run)
        if self.life.worker is not self:
            return
        self.life.worker = None
        if self.commit():
            for row in self.life.rows.results.values():
                if row.status == "started":
                    row.status, row.retry_at = "queued", self.life.now
            self.life.rows.status = "queued"

    def abandon(self) -> None:
        """It learns that its lease is lost: what it has started ends."""
        for run in self.of.values():
            if run.worker == self.fence and run.is_alive:
                run.told = EndReason.LOST
                self.life.end(run, -9)

    def seal(self) -> None:
        """The transaction that ends the page."""
        if not self.commit():
            self.life.worker = None
            return
        self.life.rows.status = "sealed"
        self.life.worker = None
        self.life.log.append("sealed")
        alive = [run.hook.file_name for run in self.life.runs if run.is_alive]
        self.life.promise(not alive, f"runs after the seal: {alive}")
        for name, row in self.life.rows.results.items():
            is_closed = row.status in FINAL_STATUSES or (row.status == "backoff" and row.retry_at is not None)
            self.life.promise(is_closed, f"{name} is open at the seal")
        self._check_derived()

    # --- promises ---------------------------------------------------------------------------------------------

    def _check_start(self, item: Planned) -> None:
        """What has to hold when a hook starts."""
        hook, promise = item.hook, self.life.promise
        alive = [run for run in self.life.runs if run.is_alive and run.name == hook.file_name]
        promise(not alive, f"{hook.file_name} is started while it runs")
        promise(self.life.rows.status == "started", f"{hook.file_name} is started after the seal")
        if item.result_id is None:
            return
        own = [run for run in self.life.runs if run.name == hook.file_name]
        had = [run for run in own if run.fate == "succeeded" and run.exit_code == 0 and run.told is None]
        again = hook.session or hook.derived or hook.file_name in self.life.may_run_again
        promise(again or not had, f"{hook.file_name} has succeeded and runs again")
        promise(
            again or self.pending[hook.file_name].status not in FINAL_STATUSES,
            f"{hook.file_name} is final and runs again",
        )
        for other, run in self.of.items():
            shared = set(other.holds) & set(hook.exclusive)
            promise(not run.is_alive or not shared, f"{hook.file_name} and {run.hook.file_name} both hold {shared}")
        for gate in (other for other in self.life.hooks if other.gate and other.sort_key < hook.sort_key):
            promise(
                self.pending[gate.file_name].status != "failed" or item.replay, f"{hook.file_name} passes a failed gate"
            )
        if hook.page and not hook.session:
            self._check_page(item)

    def _check_page(self, item: Planned) -> None:
        """A hook that needs the live page finds it there: open, and loaded since it was opened."""
        opened = [run for run in self.life.runs if run.hook.opens_page]
        if not opened:
            return
        tab, name = opened[-1], item.hook.file_name
        known_dead = not tab.is_alive and all(one.has_exited for one in self.plan.holders)
        self.life.promise(not known_dead, f"{name} is started without its page")
        for hook in (one for one in self.life.hooks if one.is_navigation and one.step < item.hook.step):
            loads = [run for run in self.life.runs if run.name == hook.file_name and run.order[0] > tab.order[0]]
            if self.pending[hook.file_name].status in {"skipped", "failed"}:
                continue  # there is no page to be had, which the hook finds by itself
            self.life.promise(bool(loads), f"{name} is started on a page that {hook.file_name} has not loaded")
            is_broken = bool(loads) and loads[-1].fate in {"crashed", "killed"} and loads[-1].told is None
            self.life.promise(not is_broken, f"{name} is started on a page whose navigation broke")

    def _check_loss(self) -> None:
        """The page is opened anew only where it, or what it was for, is lost."""
        last = [run for run in self.life.runs if run.hook.session]
        is_whole = bool(last) and all(run.is_alive for run in last if run.hook.opens_page) and not self.plan.is_lost
        odd = {"crashed", "killed", "new_page"}
        self.life.promise(
            not is_whole or any(run.fate in odd for run in last), "the page is opened anew although it is there"
        )

    def _check_derived(self) -> None:
        """What is derived is not older than what it is made from."""
        latest = {run.name: run for run in self.life.runs}
        results = self.life.rows.results
        for item in (one for one in self.plan.planned if one.hook.derived and one.hook.file_name in latest):
            if results[item.hook.file_name].status in {"skipped", "backoff"}:
                continue
            for source in self.plan.sources_of(item):
                run = latest.get(source.hook.file_name)
                if run is None or run.ended is None:
                    continue
                what = f"{item.hook.file_name} is older than {source.hook.file_name}"
                self.life.promise(latest[item.hook.file_name].order[0] > run.order[1], what)


failures = partial(broken_in, Life)


if __name__ == "__main__":
    sys.exit("\n".join(failures(range(int(sys.argv[1])))) or None)
