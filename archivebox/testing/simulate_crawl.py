"""Random lives of crawls on one machine over the plan that workers use, with what is promised of them checked.

``python -m archivebox.testing.simulate_crawl 10000`` runs so many. Hooks die before and after they are ready, workers
die and leave them running, another crawl wants the place, programs are looked for, and the loop's clock runs on.
"""

import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.hook import Hook
from archivebox.contract.outcomes import FINAL_STATUSES, Outcome, Status
from archivebox.contract.records import EndReason
from archivebox.testing.simulated_hooks import BrokenPromiseError, SimulatedRun, broken_in, end_of, hook_named
from archivebox.workers.execute.crawl_plan import MOST_RESTARTS, CrawlRunPlan, ran_with
from archivebox.workers.execute.plan_events import (
    Action,
    AwaitProgram,
    Done,
    Ended,
    Event,
    Happened,
    NotStarted,
    Planned,
    ProgramAsked,
    ProgramsKnown,
    SayReady,
    Settle,
    Settled,
    Sign,
    Start,
    Started,
    WaitingFor,
)

MOMENTS = 120
"""After which a crawl ends."""
CALM_AFTER = 60
"""Moments after which nothing dies any more, so that it gets ready."""
MOST_ACTIONS = 200
"""Actions between two events after which a plan counts as one that never rests."""
PROGRAM = BinaryRequest("node")


class CrawlLife:
    """One crawl, its hooks, and its workers, one after the other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a life, no secret
        self.hooks = list(_hooks_of_crawl(self.random))
        self.runs: list[SimulatedRun] = []
        self.now, self.clock, self.moment = datetime(2026, 1, 1, tzinfo=UTC), 0.0, 0
        self.says_ready = False
        """Whether Snapshots may use it, as its row has it."""
        self.programs: dict[str, str] = {}
        self._claim()

    def chance(self, percent: float) -> bool:
        return self.random.random() * 100 < percent

    def promise(self, is_kept: bool, what: str) -> None:
        if not is_kept:
            raise BrokenPromiseError(what)

    def live(self) -> None:
        """From its first claim until nobody needs it; BrokenPromiseError where a promise is not kept."""
        for self.moment in range(MOMENTS):
            self._something_happens()
        waits = self.plan.is_preempted or self.plan.hopeless
        self.promise(bool(self.says_ready or waits), "it never gets ready")
        self.handle(Happened(Sign.LEAVING))
        for item in list(self.of):
            self.of[item].told = EndReason.SEALED
            self._exits(item, 0)
        self.promise(not self.plan.next_actions(self.clock), "it goes on after its end")

    def _claim(self) -> None:
        """A worker goes on with what runs, and with the hooks that ended beside it."""
        self.of: dict[Planned, SimulatedRun] = {}
        self._restarts = self._deaths_unready = 0
        self._not_before = 0.0
        self.says_ready = False
        self.plan = CrawlRunPlan(
            map(Planned, self.hooks),
            reason_to_skip=lambda _: None,
            needed=lambda hook: [PROGRAM] if hook.plugin == "login" else [],
            is_ready=False,
        )
        latest = {run.name: run for run in self.runs}
        for item in self.plan.planned:
            run = latest.get(item.hook.file_name)
            if run is not None and run.is_alive:
                self.of[item] = run
                self.plan.apply(Started(item, run.began, run.is_ready))
        for item in self.plan.planned:
            run = latest.get(item.hook.file_name)
            if run is None or run.is_alive or run.exit_code != 0 or item.runs_until_stopped:
                continue
            if any(ran_with(item, run.began, other) for other in self.of):
                self.plan.apply(Settled(Settle(item, Outcome(Status.SUCCEEDED)), "succeeded"))
        self.handle(ProgramsKnown(dict(self.programs)))

    # --- what happens -----------------------------------------------------------------------------------------

    def _something_happens(self) -> None:
        step = self.random.choice((0.001, 0.1, 1, 40))
        self.clock += step
        self.now += timedelta(seconds=step)
        odd = self.random.random() * 100
        if odd < 2 and self.moment < CALM_AFTER:
            self._claim()
        elif odd < 3:
            self.handle(Happened(Sign.PREEMPTED))
        elif odd < 10:
            self._restarts = self._deaths_unready = 0
            self.handle(Happened(Sign.PAGE_SEALED))
        elif odd < 30:
            self.programs.setdefault(PROGRAM.name, self.random.choice(("succeeded", "failed")))
            self.handle(ProgramsKnown(dict(self.programs)))
            self.handle(Happened(Sign.PLACE_FREE))
        elif self.of:
            self._moves(*self.random.choice(list(self.of.items())))

    def _moves(self, item: Planned, run: SimulatedRun) -> None:
        """The next thing that happens to a process."""
        dies = self.moment < CALM_AFTER and self.chance(15)
        if dies:
            self._exits(item, self.random.choice((1, -9)))
        elif item.hook.ready and not (run.is_ready or item.is_late):
            run.is_ready = not self.chance(10)
            self.handle(Happened(Sign.READY if run.is_ready else Sign.LATE, item))
        elif not item.hook.background:
            if self.chance(20):
                self.handle(ProgramAsked(item, PROGRAM))
            self._exits(item, 0)

    def _exits(self, item: Planned, exit_code: int) -> None:
        run = self.of.pop(item)
        run.ended, run.exit_code = self.now, exit_code
        self.plan.apply(Happened(Sign.EXITED, item))
        if item.runs_until_stopped and run.told is None:
            self._deaths_unready = 0 if run.is_ready else self._deaths_unready + 1
            self._restarts += self._deaths_unready <= MOST_RESTARTS
            if self._restarts > MOST_RESTARTS >= self._deaths_unready:
                self._not_before = self.clock + 2
        self.handle(Ended(item, end_of(run, taken_over=False, released=False), run.ended, self.clock))

    # --- the loop of its worker -------------------------------------------------------------------------------

    def handle(self, event: Event) -> None:
        self.plan.apply(event)
        count = 0
        while actions := self.plan.next_actions(self.clock):
            for action in actions:
                count += 1
                self.promise(count < MOST_ACTIONS, f"the plan never rests: {action}")
                answer = self._perform(action)
                self.plan.apply(answer)
                if isinstance(action, Start) and isinstance(answer, Settled):
                    break
        self._check_ready()

    def _perform(self, action: Action) -> Event:
        match action:
            case Start(item=item):
                return self._start(item)
            case AwaitProgram(item=item):
                return NotStarted(item, WaitingFor.PROGRAM)
            case Settle(result=result):
                return Settled(action, str(result.status), reason=action.reason)
            case SayReady(is_ready=is_ready):
                self.says_ready = is_ready
        return Done(action)

    def _start(self, item: Planned) -> Event:
        if self.chance(10) and self.moment < CALM_AFTER:
            return NotStarted(item, WaitingFor.SLOT)
        self._check_start(item)
        key = UUID(int=len(self.runs) + 1)
        self.runs.append(SimulatedRun(key, item.hook, self.now, "listens", 0, 0))
        self.of[item] = self.runs[-1]
        return Started(item, self.now)

    # --- promises ---------------------------------------------------------------------------------------------

    def _check_start(self, item: Planned) -> None:
        """What has to hold when a hook starts."""
        name = item.hook.file_name
        alive = [run for run in self.runs if run.is_alive and run.name == name]
        self.promise(not alive, f"{name} is started while it runs")
        self.promise(not self.plan.is_leaving, f"{name} is started after the end")
        if item.runs_until_stopped:
            self.promise(self.clock >= self._not_before, f"{name} is started too soon after so many deaths")
            is_hopeless = item.hook.plugin in self.plan.hopeless
            self.promise(not is_hopeless, f"{name} is started although it is hopeless")
            return
        for other in self.plan.planned:
            if other.hook.background and other.hook.ready and other.hook.sort_key < item.hook.sort_key:
                run = self.of.get(other)
                is_ready = run is None or run.is_ready or other.is_late
                self.promise(is_ready and other.status != "queued", f"{name} does not wait for {other.hook.file_name}")

    def _check_ready(self) -> None:
        """Snapshots may use it only while all that they rely on is there."""
        if not self.says_ready:
            return
        self.promise(not self.plan.is_preempted, "it is ready although another crawl waits")
        for item in self.plan.planned:
            name, run = item.hook.file_name, self.of.get(item)
            if not item.hook.background:
                self.promise(item.status in FINAL_STATUSES, f"it is ready before {name} has ended")
            elif item.hook.ready and run is not None:
                self.promise(run.is_ready or item.is_late, f"it is ready before {name} is")
            elif item.hook.ready:
                self.promise(item.status in FINAL_STATUSES, f"it is ready while {name} is to be started again")


def _hooks_of_crawl(dice: random.Random) -> Iterator[Hook]:
    def maybe(percent: int, file_name: str) -> Iterator[Hook]:
        if dice.random() * 100 < percent:
            yield hook_named(f"on_Crawl__{file_name}")

    yield from maybe(80, "01_chrome.daemon.bg.py")
    yield from maybe(30, "02_proxy.daemon.bg.py")
    yield from maybe(30, "03_watch.bg.py")
    yield from maybe(50, "05_setup.py")
    yield from maybe(50, "10_login.py")


failures = partial(broken_in, CrawlLife)


if __name__ == "__main__":
    sys.exit("\n".join(failures(range(int(sys.argv[1])))) or None)
