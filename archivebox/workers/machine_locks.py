"""Resources of the whole machine (`machine:apt`), held by a hook for as long as it lives, whoever dies."""

import asyncio
import fcntl
import os
from pathlib import Path

PREFIX = "machine:"
LOOK_EVERY = 0.1
"""Seconds between two looks at a lock that somebody holds: a thread asleep in flock(2) could not be told to stop."""


def of_machine(names: tuple[str, ...]) -> list[str]:
    """Those of a hook's exclusive resources that belong to the machine, in one order: no two block each other."""
    return sorted(name for name in names if name.startswith(PREFIX))


async def take_machine_lock(lib: Path, name: str) -> int:
    """The locked descriptor of a machine's resource, to be inherited by the hook; waits while somebody has it."""
    folder = lib / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name.removeprefix(PREFIX).replace("/", "_")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while not _is_taken(descriptor):  # noqa: ASYNC110 - whoever lets go tells nobody
            await asyncio.sleep(LOOK_EVERY)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
