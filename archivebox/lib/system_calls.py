"""Calls of the operating system that Python does not name, or that differ on macOS.

A clock, a pipe that wakes, writing a file system to its disk, the limit of open files, locks that show who lives.
"""

import ctypes
import fcntl
import os
import resource
import sys
import time
from pathlib import Path


def seconds_since_boot() -> float:
    """Return seconds since some moment of this boot: with the time asleep on Linux, without it elsewhere."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def wakeup_pipe() -> tuple[int, int]:
    """Its reading and its writing end, neither of which blocks; macOS has no pipe2(2)."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends


_libc = ctypes.CDLL(None, use_errno=True)

HAS_SYNCFS = hasattr(_libc, "syncfs")
"""Linux has it; macOS does not."""


def syncfs(descriptor: int) -> None:
    """Return once everything on the file system of an open file is on its disk; OSError where it cannot be written."""
    if _libc.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def sync_file_system(folder: Path) -> None:
    """The same for the file system of a folder; all file systems where there is no syncfs(2)."""
    if not HAS_SYNCFS:
        os.sync()
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        syncfs(descriptor)
    finally:
        os.close(descriptor)


LEAST = 256
"""Chromium has 131 open for one page, and a renderer more for each further one."""
WANTED = 4096


class TooFewFilesError(Exception):
    """A limit of the system with which no page can be archived; the message says what to do."""


def require_open_files() -> None:
    """Raise our own limit towards WANTED, as far as we may; TooFewFilesError where that leaves less than LEAST."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < LEAST:
        raise TooFewFilesError(
            f"A process may have only {most} files open here, and archiving pages takes {LEAST}. Raise the limit "
            "(`ulimit -n 4096`, in Docker --ulimit nofile=4096), and try again. Accepted URLs are saved."
        )


def hold(path: Path) -> int:
    """Make a file and lock it for as long as this process lives, as a sign that it does; returns its descriptor.

    Who clears away the signs that nobody holds may come between the making and the lock: it is made anew then.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if is_at(descriptor, path):
            return descriptor
        os.close(descriptor)


def is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
