"""A hook's deadline on a machine that becomes busy, and which failures are for want of time or memory."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from archivebox.contract.hook import Hook
from archivebox.contract.outcomes import Outcome, failure
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason
from archivebox.hooks import HookCall
from archivebox.lib import machine_load
from archivebox.lib.machine_load import LONGEST, seconds_delayed
from archivebox.lib.processes import Child, ProcessIdentity
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hooks.process import LISTENS_AFTER, HookProcess, Owner
from archivebox.workers.execute.page_run import lacked_machine


class Stopped(HookProcess):
    """Tells why it was stopped, and stops nothing."""

    why: EndReason | None = None

    def stop(self, reason: EndReason, grace: float) -> None:  # noqa: ARG002  (as the engine has it)
        self.why = reason


def watched(folder: Path) -> Stopped:
    """A hook with a timeout of a minute, as its worker watches it."""
    engine = SimpleNamespace(loop=asyncio.get_running_loop(), stop_grace=1.0)
    hook = SimpleNamespace(file_name="on_Snapshot__50_slow.py")
    call = SimpleNamespace(hook=hook, timeout=60, object_dir=folder, output_max=100)
    owner = SimpleNamespace(lease=None)
    return Stopped(cast("Engine", engine), cast("Owner", owner), cast("HookCall", call), {})


def busy(monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (2 * times, 0.0, 0.0))


def test_a_timeout_that_is_over_is_extended_while_the_machine_is_busy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def run() -> None:
        process = watched(tmp_path)
        began = process.deadline
        busy(monkeypatch, 2.0)
        process._timed_out()
        assert (process.why, process.deadline) == (None, began + 60)
        process._timed_out()
        assert process.why is EndReason.TIMEOUT, "as busy as before is no reason for more"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("result", "machine", "lacked"),
    [
        (failure(Reason.TIMEOUT), (1.0, 0), False),
        (failure(Reason.TIMEOUT), (2.0, 0), True),
        (failure(Reason.TIMEOUT), (1.0, 30), True),
        (failure(Reason.TEMPORARY_FAILURE), (2.0, 0), True),
        (failure(Reason.SIGNALLED), (2.0, 0), False),
        (failure(Reason.SIGNALLED), (1.0, 30), True),
        (failure(Reason.CRASHED), (2.0, 30), False),
        (failure(Reason.CRASHED, "MemoryError"), (1.0, 0), True),
        (failure(Reason.DECLARED), (2.0, 30), False),
    ],
)
def test_failures_for_want_of_time_or_memory_are_told_from_others(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    result: Outcome,
    machine: tuple[float, int],
    lacked: bool,
) -> None:
    times, memory = machine
    busy(monkeypatch, times)
    pressure = tmp_path / "memory"
    pressure.write_text(f"some avg10=0.00 avg60={memory}.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00\n")
    monkeypatch.setattr(machine_load, "MEMORY_PRESSURE", str(pressure))
    assert lacked_machine(result) is lacked


def test_a_background_hook_has_longer_to_handle_term_while_the_machine_is_busy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One that dies of TERM before it has that would count as a download, and be waited for, from then on."""

    async def run() -> None:
        process = watched(tmp_path)
        process.hook = cast("Hook", SimpleNamespace(may_be_cut_off=True, background=True))
        process.row.end_reason = EndReason.SEALED
        began = process._launched_at = process.engine.loop.time()
        busy(monkeypatch, 0.5)
        assert process._tells_at() == began + LISTENS_AFTER
        busy(monkeypatch, 2.0)
        assert process._tells_at() == began + 2 * LISTENS_AFTER
        busy(monkeypatch, 9.0)
        assert process._tells_at() == began + LONGEST * LISTENS_AFTER
        process._is_hurried = True
        assert process._tells_at() == began + LISTENS_AFTER, "a shutdown does not wait for it"
        process._launched_at = None
        assert process._tells_at() >= began, "one that was adopted has run for long enough"

    asyncio.run(run())


@pytest.mark.usefixtures("collection")
def test_a_timeout_is_extended_by_the_time_in_which_others_had_the_processor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever the load says: three programs share one processor until one of them has waited for two seconds."""
    busy(monkeypatch, 0.0)
    body = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"
    programs = [subprocess.Popen([sys.executable, "-c", body]) for _ in range(3)]

    async def run() -> None:
        process = watched(tmp_path)
        began, identity = process.deadline, ProcessIdentity.of(programs[0].pid)
        process.child = cast("Child", SimpleNamespace(identity=identity))
        process._timed_out()
        assert process.why is None
        assert began + 2 <= process.deadline <= began + 120

    try:
        while seconds_delayed(programs[0].pid) < 2:
            time.sleep(0.1)
        asyncio.run(run())
    finally:
        for program in programs:
            program.kill()
            program.wait()
