"""How long it takes until a machine is woken by another, by NOTIFY of the PostgreSQL that they share.

On PostgreSQL alone: ``bin/with-postgres .venv/bin/python -m benchmarks wakes``. From before the commit of a transaction
that makes work due here, until the wake-up file of another data folder is touched: by the listener that orchestrators
start; each worker sleeps until then. The floor is a file that is touched without the database.
"""

import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection, transaction

from archivebox.base_models.wakeups import CHANNEL, notify_workers
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.file_watch import ATTRIB, FileWatcher
from archivebox.storage.layout import DataFolder
from benchmarks.finding import Bound, Finding, interleaved

WAKES = 40
"""In a round; with five rounds these are 200."""
REST = 0.02
"""Seconds between two: what is notified together is one wake."""
START_SECONDS = 60.0
LISTEN = """
import socket, sys
import django
django.setup()
from archivebox.config.collection import open_collection
open_collection(create=True)
from archivebox.base_models.rows import new_id
from archivebox.workers.supervise import listener
listener.main(new_id(), new_id(), pulse=socket.socket(fileno=int(sys.argv[1])))
"""


def run(rounds: int) -> list[Finding]:
    if connection.vendor != "postgresql":
        raise SystemExit("This is measured on PostgreSQL alone: bin/with-postgres python -m benchmarks wakes")
    name = "a machine is woken by work of another"
    finding = Finding(name, "ms", Bound.MOST, 100, [], floor_name="a touched file", quantile=0.95)
    with another_machine() as wakeup_file:
        watched = WatchedFile(wakeup_file)

        def ours() -> None:
            finding.ours.extend(watched.wakes_by(notify))

        def floor() -> None:
            finding.floor.extend(watched.wakes_by(lambda: os.utime(wakeup_file)))

        interleaved(rounds, floor, ours)
        watched.close()
    return [finding]


def notify() -> None:
    """What whoever makes work due does."""
    with transaction.atomic():
        notify_workers()


class WatchedFile:
    """The wake-up file of the other machine, watched as its workers do."""

    def __init__(self, path: Path) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched = FileWatcher(0.001)
        self._watched.add(path, ATTRIB)
        self._watched.register(self._selector, lambda: None)

    def wakes_by(self, wake: Callable[[], object]) -> Iterator[float]:
        """Milliseconds of WAKES, one after the other."""
        for _ in range(WAKES):
            time.sleep(REST)
            self._watched.changed()
            began = time.perf_counter()
            wake()
            while not self._watched.changed():
                self._selector.select(1.0)
            yield (time.perf_counter() - began) * 1000

    def close(self) -> None:
        self._watched.close()
        self._selector.close()


@contextmanager
def another_machine() -> Iterator[Path]:
    """A listener of another data folder with the same database, which listens; its wake-up file."""
    folder = DataFolder(DATA_FOLDER.root.parent / "other")
    ours, theirs = socket.socketpair()
    env = {**os.environ, "DATA_DIR": str(folder.root), "MACHINE_ID": "other"}
    command = [sys.executable, "-c", LISTEN, str(theirs.fileno())]
    process = subprocess.Popen(command, env=env, pass_fds=[theirs.fileno()])
    theirs.close()
    try:
        wait_until_it_listens()
        yield folder.wakeup_file
    finally:
        ours.close()
        process.wait(START_SECONDS)


def wait_until_it_listens() -> None:
    deadline = time.monotonic() + START_SECONDS
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE query = %s", [f"LISTEN {CHANNEL}"])
            if cursor.fetchone() == (1,):
                return
            time.sleep(0.1)
    raise TimeoutError("The other machine does not listen")
