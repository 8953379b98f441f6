"""Taking turns at SQLite's one place for writers."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

from django.db import connection, transaction

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.files import locked

_of_this_visit: ContextVar[ExitStack | None] = ContextVar("visit", default=None)


@contextmanager
def turn() -> Iterator[None]:
    """A transaction that writes.

    On SQLite it queues for a file lock first: the kernel wakes the next writer at once, where SQLite's own back-off
    sleeps up to 100 ms and lets late-comers pass. Who does not queue is still safe, by the busy timeout.
    """
    held = _of_this_visit.get()
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        if held is None:
            with _place_of_the_writer():
                yield
            return
        held.enter_context(_place_of_the_writer())
    with transaction.atomic():
        yield


@contextmanager
def visit() -> Iterator[None]:
    """The turns that are taken in here become one, from the first on: one flush of the disk instead of one for each.

    Only on SQLite. Where rows are locked, who locks many of them for long meets others that hold what he wants.
    """
    with ExitStack() as held:
        before = _of_this_visit.set(held)
        try:
            yield
        finally:
            _of_this_visit.reset(before)


@contextmanager
def _place_of_the_writer() -> Iterator[None]:
    with locked(DATA_FOLDER.write_lock), transaction.atomic():
        yield
