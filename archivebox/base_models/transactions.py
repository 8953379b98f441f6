"""Transactions that write: one writer at a time on SQLite, and some that need not wait for the disk."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.files import locked

_STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
"""What a terminal stops processes with; SIGSTOP itself cannot be put off."""
_UNFLUSHED, _FLUSHED = "PRAGMA synchronous=NORMAL", "PRAGMA synchronous=FULL"
"""What a connection of SQLite is told (sqlite.org/pragma.html)."""


@contextmanager
def write_transaction() -> Iterator[None]:
    """A transaction that writes.

    On SQLite it queues for a file lock first: the kernel wakes the next writer at once, where SQLite's own back-off
    sleeps up to 100 ms and lets late-comers pass. Who does not queue is still safe, by the busy timeout.
    """
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with _as_only_writer():
            yield
        return
    with _not_stopped(), transaction.atomic():
        yield


@contextmanager
def unflushed_transactions() -> Iterator[None]:
    """Commits in here do not wait for the disk, some milliseconds each; a kill loses nothing, as the kernel has it.

    A power cut may undo them. That is for leases and plans, which are made again from what they were made from: the
    next transaction that is flushed to the disk takes them along. On PostgreSQL they wait as all do: its server may
    crash alone, and who works by a plan that it has forgotten would work for nothing.
    """
    if connection.in_atomic_block or connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(_UNFLUSHED)
        try:
            yield
        finally:
            cursor.execute(_FLUSHED)


@contextmanager
def _as_only_writer() -> Iterator[None]:
    with _not_stopped(), locked(DATA_FOLDER.write_lock), transaction.atomic():
        yield


@contextmanager
def _not_stopped() -> Iterator[None]:
    """Ctrl-Z takes effect at the end: nobody else can write while a transaction of a stopped process is open."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
