"""Owns starting a module of ours as a program of its own, for work that may have to be ended, also within limits."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from archivebox.lib import processes

_APPLICATION = Path(__file__).parents[2]
"""Where the process finds our modules."""


def module_process(module: str, *, files: Sequence[int] = ()) -> "AbstractContextManager[subprocess.Popen[bytes]]":
    """The process, whose stdin and stdout are pipes; nobody else reaps it, or takes it for an orphan, in the block.

    Its environment says only where our modules are, and that text is UTF-8. ``files``: descriptors that it has open,
    too, under the same numbers.
    """

    def start() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", module],
            env={"PYTHONPATH": str(_APPLICATION), "LANG": "C.UTF-8"},
            cwd=os.sep,  # Python looks for modules where it is started, too
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=files,
            start_new_session=True,  # Ctrl-C is for who asks; this one ends with its stdin
        )

    return processes.foreground_child(start)


WAIT = 120.0
"""Seconds after which it is ended, however busy the machine is."""


class LimitError(Exception):
    """The work took more memory or more time than it may."""


def run_limited(module: str, sent: bytes, files: Sequence[int] = ()) -> bytes:
    """What ``module`` answers to ``sent``, run as a program that calls :func:`limit` first. LimitError. Blocks.

    ``files``: descriptors that it has open, too, under the same numbers.
    """
    with module_process(module, files=files) as process:
        try:
            answer, _ = process.communicate(sent, WAIT)
        except subprocess.TimeoutExpired:
            answer = b""
        finally:
            process.kill()
    if process.returncode:
        raise LimitError
    return answer


def limit(memory: int, seconds: int) -> None:
    """Have the kernel end this process beyond so many bytes of address space, or seconds of the processor."""
    for what, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
        _, hard = resource.getrlimit(what)
        with suppress(ValueError, OSError):  # macOS takes no limit of memory; that of time holds there
            resource.setrlimit(what, (most, hard))
