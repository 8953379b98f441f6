"""Owns where the server of this collection is, while one runs, and that the next one waits for its end."""

import time
from collections.abc import Callable

import psutil

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.addresses import Address
from archivebox.workers.supervise.supervisord_conf import addresses_in

ENDING = 20.0
"""Seconds that the server before has to end; hooks that it has to stop have 5 of them, unless set otherwise."""
LOOK_EVERY = 0.1


def served_at() -> tuple[Address, ...]:
    """Where it listens: for the app, then for archived pages. Empty where none runs."""
    try:
        pid = int(DATA_FOLDER.supervisord_pid.read_text())
        # By its command line: the number of one that was killed may be anybody's now, in a container above all.
        is_ours = str(DATA_FOLDER.supervisord_conf) in psutil.Process(pid).cmdline()
        return addresses_in(DATA_FOLDER.supervisord_conf.read_text()) if is_ours else ()
    except (FileNotFoundError, ValueError, psutil.Error):
        return ()


def wait_for_end(tell: Callable[[str], object]) -> bool:
    """Whether the server before, which may be ending, is gone: one collection has one server."""
    if found := served_at():
        tell(f"The server of this collection still runs at {found[0].url}. Waiting up to {ENDING:.0f} s for its end.")
    end = time.monotonic() + ENDING
    while served_at() and time.monotonic() < end:
        time.sleep(LOOK_EVERY)
    return not served_at()
