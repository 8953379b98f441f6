"""Owns the pipe by which a signal ends a sleep (signal.set_wakeup_fd)."""

import os


def wakeup_pipe() -> tuple[int, int]:
    """Its reading and its writing end, neither of which blocks; macOS has no pipe2(2)."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends
