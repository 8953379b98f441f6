"""Transactions that write: one writer at a time on SQLite, and some that need not wait for the disk."""

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

from django.db import OperationalError, connection, transaction

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.files import locked

_STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
"""What a terminal stops processes with; SIGSTOP itself cannot be put off."""
_UNFLUSHED, _FLUSHED = "PRAGMA synchronous=NORMAL", "PRAGMA synchronous=FULL"
"""What a connection of SQLite is told (sqlite.org/pragma.html)."""
_IDLE_SECONDS = 20
"""Less than a lease: what waits for a transaction that hangs still renews its own in time."""


def end_hanging_transactions() -> None:
    """Have PostgreSQL end the transactions of this process in which it asks nothing for too long.

    Its machine was suspended, or cannot be reached: others wait for what it has locked. For a process without
    connections so far.
    """
    if connection.vendor == "postgresql":
        options = connection.settings_dict["OPTIONS"]
        limit = f"{options.get('options', '')} -c idle_in_transaction_session_timeout={_IDLE_SECONDS}s"
        connection.settings_dict["OPTIONS"] = {**options, "options": limit}


_LOCK = """
SELECT pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(name, 0) AS key FROM unnest(%s::text[]) AS name ORDER BY key
) AS keys
"""


def lock_names(names: Iterable[object]) -> None:
    """Wait for all who have locked one of these names, and keep others out until this transaction ends.

    What others have committed counts from here on. A name needs no row. They are locked in the same order everywhere,
    so that no two wait for each other. On SQLite who writes is alone.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(_LOCK, [list(map(str, names))])


@contextmanager
def write_transaction() -> Iterator[None]:
    """A transaction that writes.

    On SQLite it queues for a file lock first: the kernel wakes the next writer at once, where SQLite's own back-off
    sleeps up to 100 ms and lets late-comers pass. Who does not queue is still safe, by the busy timeout.
    """
    joined = _joined.get()
    if joined is not None:
        joined.begin()
    with _write_transaction():
        yield


@contextmanager
def _write_transaction() -> Iterator[None]:
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with _as_only_writer():
            yield
        return
    with _not_stopped(), transaction.atomic():
        yield


class JoinedTransaction:
    """Several write transactions of one thread as one, which begins with the first of them."""

    def __init__(self, first: Callable[[], object], stack: ExitStack) -> None:
        self._first = first
        self._stack = stack
        self._has_begun = False

    def begin(self) -> None:
        """Begin it with ``first``, unless it has begun."""
        if not self._has_begun:
            self._has_begun = True
            self._stack.enter_context(_write_transaction())
            self._first()

    def roll_back(self) -> None:
        """Have nothing of it written at its end."""
        if self._has_begun:
            transaction.set_rollback(True)


_joined: ContextVar[JoinedTransaction | None] = ContextVar("joined", default=None)


@contextmanager
def joined_transaction(first: Callable[[], object]) -> Iterator[JoinedTransaction]:
    """Make each :func:`write_transaction` in here a part of one, which is committed at the end, or not at all.

    It begins when the first of them does, with ``first``, in the same transaction. What is only read before that, or
    asked of the network, holds no other writer up.
    """
    with ExitStack() as stack:
        joined = JoinedTransaction(first, stack)
        token = _joined.set(joined)
        stack.callback(_joined.reset, token)
        yield joined


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
    with _not_stopped(), ExitStack() as lock:
        try:
            lock.enter_context(locked(DATA_FOLDER.write_lock))
        except FileNotFoundError as error:  # the data folder is away: it passes, as what SQLite says of its own file
            raise OperationalError(f"unable to open {error.filename}") from error
        with transaction.atomic():
            yield


@contextmanager
def _not_stopped() -> Iterator[None]:
    """Ctrl-Z takes effect at the end: nobody else can write while a transaction of a stopped process is open."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
