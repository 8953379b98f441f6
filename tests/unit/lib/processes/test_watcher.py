"""Ends of processes as events: each watched child is reported once, with its own code."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from archivebox.lib.processes import PORTABLE, Child, ExitJournal, ExitStatus, ExitWatcher, ProcessIdentity, adopt, wait
from tests.unit.lib.processes.starting import LIMIT, Starter
from tests.unit.lib.processes.test_exits import ORCHESTRATOR, WORKER, kernel_tells_exits

Report = Callable[[Child, ExitStatus], None]


class Seen:
    """Collects reports until as many have come as were expected."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.ends: list[tuple[Child, ExitStatus]] = []
        self.done = asyncio.get_running_loop().create_future()

    def __call__(self, child: Child, status: ExitStatus) -> None:
        self.ends.append((child, status))
        child.reap()
        if len(self.ends) == self.expected:
            self.done.set_result(None)

    async def codes(self) -> list[int | None]:
        await asyncio.wait_for(self.done, LIMIT)
        return sorted((status.exit_code for _, status in self.ends), key=lambda code: -999 if code is None else code)


def watcher_for(starter: Starter) -> ExitWatcher:
    watcher = ExitWatcher(asyncio.get_running_loop())
    if starter.server is not None:
        watcher.attach_fork_server(starter.server)
    return watcher


def test_a_hundred_background_children_at_once(starter: Starter) -> None:
    async def run() -> None:
        seen, watcher = Seen(100), watcher_for(starter)
        body = "import sys, time; time.sleep(0.1); sys.exit(int(sys.argv[1]) % 7)"
        shell = "#!/bin/bash\nsleep 0.1; exit $(($1 % 7))"
        for number in range(100):
            watcher.watch(starter.hook(body if starter.way == "forked" else shell, str(number)), seen)
        assert await seen.codes() == sorted(number % 7 for number in range(100))
        assert len({child for child, _ in seen.ends}) == 100
        watcher.close()

    asyncio.run(run())


def test_a_child_that_ended_before_it_was_watched_is_reported(starter: Starter) -> None:
    async def run() -> None:
        child = starter.hook("import sys; sys.exit(3)")
        wait(child, LIMIT)
        seen, watcher = Seen(1), watcher_for(starter)
        watcher.watch(child, seen)
        assert seen.ends == []
        assert await seen.codes() == [3]
        watcher.close()

    asyncio.run(run())


def test_an_end_noticed_by_somebody_else_first_is_reported(starter: Starter) -> None:
    """A blocking wait, or another start, may take the fork server's message before the loop does."""

    async def run() -> None:
        seen, watcher = Seen(2), watcher_for(starter)
        body = "import sys, time; time.sleep(0.2); sys.exit(5)"
        children = [starter.hook(body) for _ in range(2)]
        for child in children:
            watcher.watch(child, seen)
        waiting = asyncio.get_running_loop().run_in_executor(None, lambda: [wait(child, None) for child in children])
        await asyncio.wait_for(waiting, LIMIT)
        assert await seen.codes() == [5, 5]
        watcher.close()

    asyncio.run(run())


def test_unwatched_children_are_not_reported(starter: Starter) -> None:
    async def run() -> None:
        seen, watcher = Seen(1), watcher_for(starter)
        silent, loud = starter.hook("import sys; sys.exit(1)"), starter.hook("import time; time.sleep(0.3)")
        watcher.watch(silent, seen)
        watcher.watch(loud, seen)
        watcher.unwatch(silent)
        watcher.unwatch(silent)
        assert await seen.codes() == [0]
        watcher.close()

    asyncio.run(run())


@pytest.mark.skipif(PORTABLE, reason="there is no fork server on this platform")
def test_codes_arrive_although_the_fork_server_is_killed(forked: Starter) -> None:
    async def run() -> None:
        seen, watcher = Seen(3), watcher_for(forked)
        body = "import sys, time; time.sleep(float(sys.argv[2])); sys.exit(int(sys.argv[1]))"
        for code, seconds in ((3, "0.3"), (4, "0.5"), (5, "0")):
            watcher.watch(forked.hook(body, str(code), seconds), seen)
        assert forked.server is not None
        assert forked.server.identity is not None
        forked.server.identity.signal(signal.SIGKILL)
        assert await seen.codes() == [3, 4, 5]
        watcher.close()

    asyncio.run(run())


@pytest.mark.skipif(PORTABLE, reason="there is no subreaper on this path")
@pytest.mark.parametrize("writes", ["journal", "silent"])
def test_adopted_hook_is_reported(tmp_path: Path, writes: str) -> None:
    os.mkfifo(tmp_path / "go")

    async def run(identity: ProcessIdentity) -> None:
        child = adopt("w", identity, ExitJournal(tmp_path).path(identity))
        assert child is not None
        seen, watcher = Seen(1), ExitWatcher(asyncio.get_running_loop())
        watcher.watch(child, seen)
        (tmp_path / "go").write_text("now\n")
        assert await seen.codes() == [7 if writes == "journal" or kernel_tells_exits() else None]
        watcher.close()

    argv = [sys.executable, "-c", ORCHESTRATOR, str(tmp_path), WORKER, writes]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as orchestrator:
        try:
            assert orchestrator.stdout is not None
            pid, ticks = map(int, orchestrator.stdout.readline().split())
            asyncio.run(run(ProcessIdentity.current()._replace(pid=pid, start_ticks=ticks)))
        finally:
            orchestrator.kill()
