"""Notices that the database server has lost commits of this worker: a standby that lagged behind has taken over.

PostgreSQL may be set up so that a failover loses the last seconds. What a worker knows then differs from the rows: it
would seal a page whose results are gone. So each commit raises a number in the worker's own row. Where the row has a
lower one than the worker, everything in whose name a lost commit wrote begins anew from its rows.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connection
from django.db.models import F, Q
from django.db.models.functions import Greatest

from archivebox.base_models.prepared import PreparedQuery, Rows
from archivebox.base_models.rows import Row
from archivebox.base_models.transactions import write_transaction
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from archivebox.workers.queue.lease import Lease

log = logging.getLogger(__name__)
NO_ROW = -1
"""The number of the last commit where the worker's row has been lost, too."""
REMEMBERED = 10_000
"""Leases whose last commit is remembered; what was written before those has long reached every standby."""


class CommitCheck:
    """The numbers of one worker's commits, on PostgreSQL. Everything runs on the database thread.

    ``on_lost`` is called with each lease in whose name a lost commit wrote.
    """

    def __init__(self, worker: Process, on_lost: Callable[[Lease], object]) -> None:
        self._worker = worker
        self._on_lost = on_lost
        self.number = 0
        """Of the last commit."""
        self._last: dict[Lease, int] = {}
        """By lease, the last commit that wrote in its name."""
        self.lasting: list[Row] = []
        """Rows without a lease to which others refer; written again where they were lost. Any thread may add one."""

    @contextmanager
    def transaction(self, leases: Iterable[Lease]) -> Iterator[None]:
        """The next commit; it writes in the name of these leases."""
        with write_transaction():
            if connection.vendor == "postgresql":
                Process.objects.filter(pk=self._worker.pk).update(commit_number=self.number + 1)
            yield
        self.number += 1
        self.note_commit(leases)

    def confirm_leases(self, leases: Iterable[Lease]) -> None:
        """What was just claimed and loaded is committed: where that is lost, so is the commit that this makes."""
        if connection.vendor == "postgresql":
            with self.transaction(leases):
                pass

    def note_commit(self, leases: Iterable[Lease]) -> None:
        """The last commit was in the name of these leases."""
        for lease in leases:
            self._last.pop(lease, None)
            self._last[lease] = self.number
        while len(self._last) > REMEMBERED:
            self._last.pop(next(iter(self._last)))

    def look(self) -> None:
        """Whether the server has all commits. Nothing can be written any more by leases in whose name one is lost.

        It may also have one more than was confirmed before the connection broke.
        """
        if connection.vendor != "postgresql":
            return
        survived = _last_commit(self._worker.pk)
        if survived >= self.number:
            self.number = survived
            return
        lost = [lease for lease, number in self._last.items() if number > survived]
        with write_transaction():
            for row in (Machine.current(), *self.lasting):
                type(row)._default_manager.bulk_create([row], ignore_conflicts=True)
            if survived == NO_ROW:
                self._worker.save(force_insert=True)
            Process.objects.filter(pk=self._worker.pk).update(commit_number=self.number)
            for lease in lost:
                _invalidate(lease)
        log.warning("The database server has lost commits: %d items begin anew action=commits_lost", len(lost))
        for lease in lost:
            del self._last[lease]
            self._on_lost(lease)


def _invalidate(lease: Lease) -> None:
    """Raise the fence above that of a lost lease. A new holder has a lease of its own, which stays."""
    rows = lease.model.rows(pk=lease.pk).filter(Q(owner=lease.owner) | Q(owner__isnull=True))
    rows.update(fence=Greatest(F("fence"), lease.fence) + 1)


def _last_commit(worker: UUID) -> int:
    found = list(_commit_number(worker))
    return (found[0][0] or 0) if found else NO_ROW


@PreparedQuery
def _commit_number(worker: UUID) -> Rows:
    return Process.objects.filter(pk=worker).values_list("commit_number")
