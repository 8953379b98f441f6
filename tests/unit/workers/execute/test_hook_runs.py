"""The runs of one object's hooks, without processes."""

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import pytest

from archivebox.contract.records import EndReason
from archivebox.hooks import Call
from archivebox.testing.simulated_hooks import hook_named
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hook_runs import HookRuns, PlannedItem
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.plan_events import Planned, Stop
from archivebox.workers.queue.lease import Lease

LIMIT = 30.0


def runs_of(run: HookProcess, file_name: str) -> tuple[HookRuns, Planned]:
    """Those of an object of which one hook runs; what it comes to is nobody's."""
    engine = SimpleNamespace(loop=asyncio.get_running_loop(), seal_grace=10.0)
    owner = cast("PlannedItem", SimpleNamespace(advance=lambda: None))
    runs = HookRuns(owner, cast("Engine", engine), cast("Lease", None), cast("Call", None), work={})
    item = Planned(hook_named(file_name))
    runs.by_run[run], runs.of[item] = item, run
    return runs, item


def test_all_that_wait_for_the_end_of_the_last_hook_are_told() -> None:
    """As where a worker is told to stop while it puts a page aside whose folder cannot be used."""

    async def run() -> None:
        last = cast("HookProcess", object())
        runs, _ = runs_of(last, "on_Snapshot__50_last.py")
        waiting = [asyncio.ensure_future(runs.wait_until_idle()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting.pop().cancel()
        await asyncio.sleep(0)
        runs.hook_ended(last)
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*waiting)

    asyncio.run(run())


@dataclass(eq=False)
class Told:
    """A run that is told to stop, and how long it has then."""

    deadline: float
    grace: float = 0.0
    reason: EndReason | None = None

    def stop(self, reason: EndReason, grace: float) -> None:
        self.reason, self.grace = reason, grace


@pytest.mark.parametrize(
    ("left", "kind", "grace"), [(300.0, "", 300.0), (2.0, "", 10.0), (-5.0, "", 10.0), (300.0, ".daemon", 10.0)]
)
def test_at_the_seal_a_background_hook_keeps_what_is_left_of_its_time(left: float, kind: str, grace: float) -> None:
    """At least the grace; a daemon has done what it is for, and has the grace alone."""

    async def run() -> Told:
        told = Told(asyncio.get_running_loop().time() + left)
        runs, item = runs_of(cast("HookProcess", told), f"on_Snapshot__50_load{kind}.bg.py")
        runs.stop(Stop([item]))
        return told

    told = asyncio.run(run())
    assert told.reason is EndReason.SEALED
    assert told.grace == pytest.approx(grace, abs=1.0)
