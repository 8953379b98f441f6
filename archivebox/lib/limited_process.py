"""Owns work on strangers' documents in a process of its own: within limits, and its memory is given back."""

import resource
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from archivebox.lib.module_process import module_process

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
