"""The one blocking wait for the end of a process."""

import time

from archivebox.lib.processes.children import Child, block_on_pidfd
from archivebox.lib.processes.exits import ExitStatus
from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.platform import PORTABLE


def wait(child: Child, timeout: float | None) -> ExitStatus:
    """Sleep until ``child`` has ended, ``timeout`` seconds at most; does not reap.

    Raises TimeoutError when it still runs then. Woken by events (pidfd, message of the fork server), 0.2 ms after.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    while (status := child.peek()) is None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError(f"pid {child.identity.pid} still runs after {timeout} s")
        child.block(left)
    return status


def wait_until_gone(identity: ProcessIdentity, timeout: float | None) -> None:
    """Sleep until a process that need not be our child has ended; a zombie has. Raises TimeoutError."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while identity.is_alive() and not identity.is_zombie():
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError(f"pid {identity.pid} still runs after {timeout} s")
        if PORTABLE:
            time.sleep(min(0.05, left) if left is not None else 0.05)  # the only way to see a stranger's end there
        else:
            block_on_pidfd(identity, left)
