"""Owns starting a module of ours as a program of its own, for work that may have to be ended."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
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
