"""Owns which ports the server of this collection listens on now."""

import fcntl
import os

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.system_calls import hold


def hold_ports(*ports: int) -> None:
    """Write down that this process listens on ``ports``, for as long as it lives: its lock ends with it."""
    descriptor = hold(DATA_FOLDER.listening)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, " ".join(map(str, ports)).encode(), 0)


def listened_ports() -> frozenset[int]:
    """The ports that a living server of this collection listens on; none where no server runs."""
    try:
        descriptor = os.open(DATA_FOLDER.listening, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return frozenset()
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return frozenset(map(int, os.pread(descriptor, 100, 0).split()))
    else:
        return frozenset()
    finally:
        os.close(descriptor)
