"""Starts and ends a process without work that nobody needs."""

import atexit
import contextlib
import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import NoReturn


@contextlib.contextmanager
def paused_gc() -> Iterator[None]:
    """Imports make hundreds of thousands of objects that stay: looking for garbage among them costs a quarter more.

    That is 100 of 380 ms of a command, 200 of 1,080 of the web server. Afterwards they are not gone through again.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def fast_exit(code: int) -> NoReturn:
    """Exit as Python does, but for taking all modules apart, object by object: that is 20 ms of every command."""
    if threading.active_count() == 1:
        atexit._run_exitfuncs()  # noqa: SLF001  what Python begins with
        with suppress(OSError, ValueError, AttributeError):  # somebody has closed them: Python says so its way
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)
