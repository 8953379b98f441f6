"""Owns the end of a process that has nothing more to do."""

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import NoReturn


def fast_exit(code: int) -> NoReturn:
    """Exit as Python does, but for taking all modules apart, object by object: that is 20 ms of every command."""
    if threading.active_count() == 1:
        atexit._run_exitfuncs()  # noqa: SLF001  what Python begins with
        with suppress(OSError, ValueError, AttributeError):  # somebody has closed them: Python says so its way
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)
