"""Making a Snapshot's files survive a power cut before the transaction that seals it."""

import asyncio
import ctypes
import os
from pathlib import Path

from archivebox.lib.files import fsync_tree

_libc = ctypes.CDLL(None, use_errno=True)
_waiting: "list[asyncio.Future[None]]" = []
_syncing: "list[asyncio.Task[None]]" = []


async def make_durable(loop: asyncio.AbstractEventLoop, folder: Path) -> None:
    """Return once everything below ``folder`` is on the disk.

    One syncfs(2) serves all Snapshots that wait when it starts: 60 single fsyncs a Snapshot cost more than the hooks.
    """
    if not hasattr(_libc, "syncfs"):
        await loop.run_in_executor(None, fsync_tree, folder)
        return
    future: asyncio.Future[None] = loop.create_future()
    _waiting.append(future)
    if not _syncing:
        _syncing.append(loop.create_task(_sync_while_wanted(loop, folder)))
    await future


async def _sync_while_wanted(loop: asyncio.AbstractEventLoop, folder: Path) -> None:
    try:
        while _waiting:
            served, _waiting[:] = list(_waiting), []
            try:
                await loop.run_in_executor(None, _syncfs, folder)
            except OSError as error:
                _tell(served, error)
            else:
                _tell(served, None)
    finally:
        _syncing.clear()


def _tell(futures: "list[asyncio.Future[None]]", error: OSError | None) -> None:
    for future in futures:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def _syncfs(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if _libc.syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(descriptor)
