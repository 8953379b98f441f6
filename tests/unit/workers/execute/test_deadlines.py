"""A hook's deadline on a machine that becomes busy, and how often what failed for want of time is tried."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason
from archivebox.hooks import HookCall
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.hooks.process import HookProcess, Owner
from archivebox.workers.execute.page.results import attempts_allowed


class Stopped(HookProcess):
    """Tells why it was stopped, and stops nothing."""

    why: EndReason | None = None

    def stop(self, reason: EndReason, grace: float) -> None:  # noqa: ARG002  (as the engine has it)
        self.why = reason


def busy(monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (2 * times, 0.0, 0.0))


def test_a_timeout_that_is_over_is_extended_while_the_machine_is_busy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        engine = SimpleNamespace(loop=loop, output_max=100, record_limits=None, stop_grace=1.0)
        hook = SimpleNamespace(file_name="on_Snapshot__50_slow.py")
        call = SimpleNamespace(hook=hook, timeout=60, object_dir=tmp_path)
        process = Stopped(
            cast("Engine", engine), cast("Owner", SimpleNamespace(lease=None)), cast("HookCall", call), {}
        )
        began = process.deadline
        busy(monkeypatch, 2.0)
        process._timed_out()
        assert (process.why, process.deadline) == (None, began + 60)
        process._timed_out()
        assert process.why is EndReason.TIMEOUT, "as busy as before is no reason for more"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("reason", "times", "attempts"),
    [
        (Reason.TIMEOUT, 1.0, 3),
        (Reason.TIMEOUT, 2.0, 6),
        (Reason.TEMPORARY_FAILURE, 2.0, 6),
        (Reason.CRASHED, 2.0, 3),
        (None, 2.0, 3),
    ],
)
def test_what_failed_for_want_of_time_on_a_busy_machine_is_tried_more_often(
    monkeypatch: pytest.MonkeyPatch, reason: Reason | None, times: float, attempts: int
) -> None:
    busy(monkeypatch, times)
    assert attempts_allowed(reason, 3) == attempts
