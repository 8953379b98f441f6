"""Ending with the engine: who works until told to stop ends when nobody is left to tell."""

from __future__ import annotations

import fcntl
import os
import signal
import threading


def end_with_engine() -> None:
    """Have this process told to stop (TERM) once no orchestrator and no worker of its collection is left.

    They share a lock of `run/alive`, which the kernel gives us when the last of them has ended, in whatever way. Does
    nothing for a hook that is run by hand.
    """
    path = os.path.join(os.environ.get("DATA_DIR", ""), "run", "alive")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        threading.Thread(target=_wait, args=(descriptor,), daemon=True).start()
    else:
        os.close(descriptor)


def _wait(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.close(descriptor)
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGTERM)  # to that thread: a signal that another one takes wakes no select()
