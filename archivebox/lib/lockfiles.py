"""Files whose lock says that somebody lives; who finds one that nobody holds clears it away."""

import fcntl
import os
from pathlib import Path


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
