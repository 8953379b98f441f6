"""Owns when a process looks for garbage: not while it imports what it consists of."""

import contextlib
import gc
from collections.abc import Iterator


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
