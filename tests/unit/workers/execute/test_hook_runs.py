"""The runs of one object's hooks, without processes."""

import asyncio
from types import SimpleNamespace
from typing import cast

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
