"""The one blocking wait for the end of a process."""

import time

from archivebox.lib.processes.children import Child
from archivebox.lib.processes.exits import ExitStatus


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
