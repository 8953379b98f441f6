"""Resources of the whole machine (`machine:apt`), held by a hook for as long as it lives, whoever dies."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

PREFIX = "machine:"


@asynccontextmanager
async def machine_lock(loop: asyncio.AbstractEventLoop, lib: Path, name: str) -> AsyncIterator[int | None]:
    """The descriptor of a machine's lock, to be inherited by the hook; None for a resource of one object alone."""
    if not name.startswith(PREFIX):
        yield None
        return
    folder = lib / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(
        folder / name.removeprefix(PREFIX).replace("/", "_"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
    )
    try:
        await loop.run_in_executor(None, fcntl.flock, descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
