"""What a worker does every few seconds, beside its work."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from archivebox.core.snapshot import Snapshot
from archivebox.workers.execute import worker
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.leased_items import LeasedItems
from archivebox.workers.execute.worker import Worker
from archivebox.workers.queue.lease import Lease

LIMIT = 30.0


class Renewing(Worker):
    """A worker that holds something, with a database that has nothing to say and a disk that never answers."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.renewals = 0
        self.renewed_often = asyncio.Event()
        nothing = SimpleNamespace(reap_orphans=lambda: None, end_stuck_servers=lambda: None, review=lambda: None)
        loop = SimpleNamespace(run_in_executor=lambda *_: self.loop.create_future())
        engine = SimpleNamespace(
            journal=self, exits=nothing, warm_hooks=nothing, reap_orphans=nothing.reap_orphans, loop=loop
        )
        self.engine = cast("Engine", engine)
        self.held = cast("LeasedItems", SimpleNamespace(all={Lease(Snapshot, UUID(int=1), UUID(int=2), 1): None}))
        self.process = cast("Any", SimpleNamespace(pk=None))
        self.retention_days = self.removed_retention_days = 0
        self._sibling_died = asyncio.Event()
        self._pulse = None

    async def read(self, work: Callable[..., object], *arguments: object) -> None:
        """As the journal's: nothing is asked of a database."""

    async def _renew(self) -> None:
        self.renewals += 1
        if self.renewals == 3:
            self.renewed_often.set()


def test_leases_are_renewed_however_long_a_folder_takes_to_be_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "RENEW_EVERY", 0.01)

    async def run() -> None:
        busy = Renewing()
        beats = [asyncio.ensure_future(beat) for beat in busy._beats()]
        try:
            async with asyncio.timeout(LIMIT):
                await busy.renewed_often.wait()
        finally:
            for beat in beats:
                beat.cancel()

    asyncio.run(run())
