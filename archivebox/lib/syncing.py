"""Owns having the kernel write all of a file system to its disk (syncfs(2))."""

import ctypes
import os
from pathlib import Path

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
