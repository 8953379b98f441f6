"""Resources of the whole machine (`machine:apt`), held by a hook for as long as it lives, whoever dies."""

import asyncio
import fcntl
import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

PREFIX = "machine:"
POLL_EVERY = 0.1
"""Seconds between two tries of a lock that somebody holds: a thread asleep in flock(2) could not be told to stop."""


def of_machine(names: tuple[str, ...]) -> list[str]:
    """Those of a hook's exclusive resources that belong to the machine, in one order: no two block each other."""
    return sorted(name for name in names if name.startswith(PREFIX))


async def acquire_machine_locks(lib: Path, names: Iterable[str]) -> tuple[int, ...]:
    """The locked descriptors of the machine's resources, to be inherited by the hook; waits while somebody has one."""
    with ExitStack() as held:
        descriptors = []
        for name in names:
            descriptors.append(_open(lib, name))
            held.callback(os.close, descriptors[-1])
            while not _is_locked(descriptors[-1]):  # noqa: ASYNC110 - whoever lets go tells nobody
                await asyncio.sleep(POLL_EVERY)
        held.pop_all()
    return tuple(descriptors)


def release_machine_locks(descriptors: Iterable[int]) -> None:
    """Our hold on the resources ends; a hook that has inherited them holds them until its end."""
    for descriptor in descriptors:
        os.close(descriptor)


def _open(lib: Path, name: str) -> int:
    folder = lib / "locks"
    for made, mode in ((lib, 0o755), (folder, 0o1777)):
        if not made.is_dir():
            made.mkdir(parents=True, exist_ok=True)
            made.chmod(mode)  # whatever our umask: several users may share the programs that are installed there
    path = folder / name.removeprefix(PREFIX).replace("/", "_")
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)  # all that flock(2) needs of another user's
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
