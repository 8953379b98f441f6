"""Taking turns at SQLite's one place for writers."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.files import locked


@contextmanager
def turn() -> Iterator[None]:
    """A transaction that writes.

    On SQLite it queues for a file lock first: the kernel wakes the next writer at once, where SQLite's own back-off
    sleeps up to 100 ms and lets late-comers pass. Who does not queue is still safe, by the busy timeout.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with locked(DATA_FOLDER.write_lock), transaction.atomic():
        yield
