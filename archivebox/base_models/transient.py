"""Waiting for what passes by itself: a disk that is full or read-only, a database that is away or in a deadlock."""

import errno
import logging
import math
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection

log = logging.getLogger(__name__)
T = TypeVar("T")

OF_DATABASE = (DatabaseError, InterfaceError)
"""Kinds of what a database may raise; the second is no kind of the first (PEP 249)."""
TRY_EVERY = 1.0
"""Seconds between two tries."""
FULL = "The disk is full: work waits until there is free space."
READ_ONLY = "The disk can only be read: the work waits until it can be written again."
ONLY_READ = "The database can only be read: the work waits until it can be written again."
AWAY = "The database does not answer: the work waits until it does."
GONE = "The database file cannot be opened: the work waits until the data folder is there again."
DEADLOCK = "Two writers waited for each other (a deadlock): it is done again."
ERRORS = {errno.ENOSPC: FULL, errno.EDQUOT: FULL, errno.EROFS: READ_ONLY}
SQLITE = {"is full": FULL, "readonly database": READ_ONLY, "unable to open": GONE}
"""What SQLite says (sqlite.org/rescode.html: SQLITE_FULL, _READONLY, _CANTOPEN)."""
SQLSTATES = {
    "53100": FULL,
    "25006": ONLY_READ,
    "08": AWAY,
    "57P0": AWAY,
    "25P03": AWAY,
    "53300": AWAY,
    "40P01": DEADLOCK,
}
"""Beginnings of what PostgreSQL says (its manual, appendix A); where it says nothing at all, it is away."""


def transient_problem(error: BaseException) -> str:
    """The sentence for people about an error that passes by itself; empty for every other."""
    if isinstance(error, OSError):
        return ERRORS.get(error.errno or 0, "")
    if not isinstance(error, OperationalError | InterfaceError | InternalError):
        return ""
    if connection.vendor == "sqlite":
        return next((sentence for words, sentence in SQLITE.items() if words in str(error)), "")
    state: str = getattr(error.__cause__, "sqlstate", None) or "08"
    return next((sentence for start, sentence in SQLSTATES.items() if state.startswith(start)), "")


def is_disk_full(error: BaseException) -> bool:
    return transient_problem(error) == FULL


def retry_transient(
    work: Callable[[], T],
    *,
    before_again: Callable[[], object] = lambda: None,
    of: tuple[type[Exception], ...] = (*OF_DATABASE, OSError),
    tell: Callable[[str], object] = log.warning,
    patience: float = math.inf,
) -> T:
    """Carry out ``work``, again and again while what it needs is away; ``tell`` is told so once.

    ``work`` does all or nothing: one transaction, or what may be done twice. ``before_again`` is called before
    each further try: it puts right what one may have left, or says that this process lives. ``of``: kinds of errors
    that may be waited out; ``patience``: seconds after which the error is raised all the same. Within a transaction
    nothing is tried again: that is for who began it.
    """
    told, until = "", time.monotonic() + patience
    while True:
        try:
            if told:
                before_again()
            return work()
        except of as error:
            sentence = transient_problem(error)
            if not sentence or connection.in_atomic_block or time.monotonic() > until:
                raise
            if sentence != told:
                tell(sentence)
            told = sentence
            connection.close()  # also one that works: it may lead to a server that only reads, while another took over
            time.sleep(TRY_EVERY)
