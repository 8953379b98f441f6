"""The runs of one object's hooks, without processes."""

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import pytest

from archivebox.contract.records import EndReason
from archivebox.workers.execute.hooks.process import HookProcess
from archivebox.workers.execute.steps.executor import StepExecutor
from archivebox.workers.execute.steps.runs import HookRuns
from archivebox.workers.execute.steps.schedule import Planned

LIMIT = 30.0


def runs_of(run: HookProcess) -> HookRuns:
    """Those of an object of which one hook runs; what it comes to is nobody's."""
    executor = SimpleNamespace(
        engine=SimpleNamespace(loop=asyncio.get_running_loop()),
        lease=None,
        resources=SimpleNamespace(release=lambda _: None),
        leased=SimpleNamespace(advance=lambda: None),
    )
    runs = HookRuns(cast("StepExecutor", executor))
    hook = SimpleNamespace(name=SimpleNamespace(daemon=False))
    runs._by_run[run] = cast("Planned", SimpleNamespace(run=None, hook=hook))
    return runs


def test_all_that_wait_for_the_end_of_the_last_hook_are_told() -> None:
    """As where a worker is told to stop while it puts a page aside whose folder cannot be used."""

    async def run() -> None:
        last = cast("HookProcess", object())
        runs = runs_of(last)
        waiting = [asyncio.ensure_future(runs.wait_until_idle()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting.pop().cancel()
        await asyncio.sleep(0)
        runs.hook_ended(last)
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*waiting)

    asyncio.run(run())


@dataclass
class Told:
    """A run that is told to stop, and how long it has then."""

    deadline: float
    grace: float = 0.0
    reason: EndReason | None = None

    def stop(self, reason: EndReason, grace: float) -> None:
        self.reason, self.grace = reason, grace


@pytest.mark.parametrize(
    ("left", "daemon", "grace"), [(300.0, False, 300.0), (2.0, False, 10.0), (-5.0, False, 10.0), (300.0, True, 10.0)]
)
def test_at_the_seal_a_background_hook_keeps_what_is_left_of_its_time(left: float, daemon: bool, grace: float) -> None:
    """At least the grace; a daemon has done what it is for, and has the grace alone."""

    async def run() -> Told:
        told = Told(asyncio.get_running_loop().time() + left)
        item = SimpleNamespace(run=told, hook=SimpleNamespace(name=SimpleNamespace(daemon=daemon)))
        runs_of(cast("HookProcess", object())).stop_background([cast("Planned", item)], grace=10.0)
        return told

    told = asyncio.run(run())
    assert told.reason is EndReason.SEALED
    assert told.grace == pytest.approx(grace, abs=1.0)
