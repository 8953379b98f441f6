"""Owns where the server of this collection is, while one runs, and that the next one waits for its end."""

import socket
import time
from collections.abc import Callable

import psutil

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.addresses import ListenAddress
from archivebox.workers.supervise.supervisord_conf import addresses_in

ENDING = 20.0
"""Seconds that the server before has to end; hooks that it has to stop have 5 of them, unless set otherwise."""
LISTENING = 2.0
"""Seconds that it may still listen once it has been told to end."""
LOOK_EVERY = 0.1


def served_at() -> tuple[ListenAddress, ...]:
    """Where it listens: for the app, then for archived pages. Empty where none runs."""
    try:
        pid = int(DATA_FOLDER.supervisord_pid.read_text())
        # By its command line: the number of one that was killed may be anybody's now, in a container above all.
        is_ours = str(DATA_FOLDER.supervisord_conf) in psutil.Process(pid).cmdline()
        return addresses_in(DATA_FOLDER.supervisord_conf.read_text()) if is_ours else ()
    except (FileNotFoundError, ValueError, psutil.Error):
        return ()


def listens(app: ListenAddress) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(app.host, app.host)  # noqa: S104 - connects, binds nothing
    try:
        socket.create_connection((host, app.port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_for_end(tell: Callable[[str], object]) -> bool:
    """Whether the server before, which may be ending, is gone: one collection has one server.

    The first thing that one does which ends is to listen no longer; for the end of one that listens nobody waits.
    """
    if found := served_at():
        tell(f"The server of this collection still runs at {found[0].url}. Waiting up to {ENDING:.0f} s for its end.")
    begin = time.monotonic()
    while (found := served_at()) and time.monotonic() < begin + ENDING:
        if time.monotonic() > begin + LISTENING and listens(found[0]):
            return False
        time.sleep(LOOK_EVERY)
    return not served_at()
