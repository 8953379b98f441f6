"""Owns what ps(1) shows of a forked process, which else is the command line of the one that it was forked from."""

import ctypes
from pathlib import Path

from archivebox.lib.processes.platform import PORTABLE

_ARG_START, _ARG_END = 48 - 3, 49 - 3
"""Fields of /proc/self/stat (proc_pid_stat(5)), counted from the state, which comes after the name."""


def set_title(text: str) -> None:
    """Write ``text`` where the kernel reads this process's command line, cut to the room there; nothing elsewhere.

    A command line whose very last byte is not NUL is one string up to its first NUL (fs/proc/base.c, get_mm_cmdline).
    """
    if PORTABLE:
        return
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    room = end - start - 2
    if room > 0:  # both are 0 where the kernel hides them
        ctypes.memmove(start, text.encode()[:room].ljust(room + 1, b"\0") + b".", end - start)
