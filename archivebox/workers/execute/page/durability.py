"""Making a Snapshot's files survive a power cut before the transaction that seals it."""

import asyncio
import os
from pathlib import Path
from typing import NamedTuple

from archivebox.lib.files import fsync_tree
from archivebox.lib.system_calls import HAS_SYNCFS, syncfs


class Waiting(NamedTuple):
    """Somebody whose folder, open as ``descriptor``, is to be on the disk."""

    descriptor: int
    told: "asyncio.Future[None]"


_waiting: dict[int, list[Waiting]] = {}
"""Those of the next syncfs(2), by file system."""
_syncing: "dict[int, asyncio.Task[None]]" = {}


async def make_durable(loop: asyncio.AbstractEventLoop, folder: Path) -> None:
    """Return once everything below ``folder`` is on the disk; OSError where it is no folder, or cannot be written.

    One syncfs(2) serves all Snapshots that wait when it starts: 60 single fsyncs a Snapshot cost more than the hooks.
    """
    if not HAS_SYNCFS:
        await loop.run_in_executor(None, fsync_tree, folder)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        system = os.fstat(descriptor).st_dev
        waiting = Waiting(descriptor, loop.create_future())
        _waiting.setdefault(system, []).append(waiting)
        if system not in _syncing:
            _syncing[system] = loop.create_task(_sync_while_wanted(loop, system))
        await waiting.told
    finally:
        os.close(descriptor)


async def _sync_while_wanted(loop: asyncio.AbstractEventLoop, system: int) -> None:
    try:
        while served := _waiting.pop(system, []):
            try:
                await loop.run_in_executor(None, syncfs, served[0].descriptor)
            except OSError as error:
                _tell(served, error)
            else:
                _tell(served, None)
    finally:
        del _syncing[system]


def _tell(served: list[Waiting], error: OSError | None) -> None:
    for _, told in served:
        if told.done():
            continue
        if error is None:
            told.set_result(None)
        else:
            told.set_exception(error)
