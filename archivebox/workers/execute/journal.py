"""The one writer of a worker: gathers changes of rows and commits them together.

SQLite pays a disk flush per transaction, so that changes are gathered for 0.2 s, or until somebody waits; insert,
start and end of a short hook become one INSERT. Every part of a batch that speaks of leased work is checked against
the lease: a worker that has lost it cannot write.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db import (
    DataError,
    IntegrityError,
    OperationalError,
    connection,
    connections,
    models,
    transaction,
)

from archivebox.base_models.bulk_write import insert_rows, update_rows
from archivebox.base_models.rows import Row
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.transient import retry_transient
from archivebox.base_models.wakeups import notify_other_machines, wake_local_workers, wake_viewers
from archivebox.base_models.work import WorkItem
from archivebox.workers.queue.lease import Lease

log = logging.getLogger(__name__)
T = TypeVar("T")
PATIENCE = 30
"""Tries, a second apart, before a worker abandons its database; its work is then taken back by the next."""
REFUSALS = (
    IntegrityError, DataError, ValueError, TypeError, LookupError, ArithmeticError, models.ObjectDoesNotExist
)  # fmt: skip
"""What an odd record may raise; a database that is away is no fault of the record."""
BAD_VALUES = (DataError, ValueError, OverflowError)
"""What a value raises that no column takes, such as half of a character."""
GATHER = 0.2
"""Seconds that changes are gathered before they are committed, unless somebody waits for them."""


@dataclass(slots=True)
class Change:
    """What is to become of one row."""

    model: type[Row]
    pk: UUID
    insert: bool
    columns: dict[str, Any]
    lease: Lease | None


class Effect(NamedTuple):
    """What needs the ORM, and is done in a savepoint of its own after the rows of its batch."""

    lease: Lease | None
    work: Callable[[], object]
    parts: Sequence[Callable[[], object]] = ()
    """What ``work`` does, piece by piece: where it is refused, each is tried alone, so that the others are kept."""
    on_refused: Callable[[str], object] = lambda _: None
    """Called on the loop with the first reason, where something was refused."""


@dataclass(slots=True)
class Batch:
    """Changes that are committed together, in the order in which their rows were first named."""

    changes: dict[tuple[type[Row], UUID], Change] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    afterwards: list[Callable[[], object]] = field(default_factory=list)
    requeued: list[Change] = field(default_factory=list)
    """Those that a later change of the same row has to follow, as its status leads through the queue."""
    committed: "asyncio.Future[None] | None" = None
    wake: bool = False

    def leases(self) -> set[Lease]:
        """Those in whose name something is written."""
        found = {change.lease for change in self.changes.values()} | {effect.lease for effect in self.effects}
        return {lease for lease in found if lease is not None}

    def __bool__(self) -> bool:
        return bool(self.changes or self.effects or self.afterwards)


class Journal:
    """The database thread of a worker: reads on request, and the batches, one after the other on one connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="database")
        self._batch = Batch()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[None]] = set()
        self.on_lost: Callable[[Lease], None] = lambda _: None
        self.on_broken: Callable[[Exception], None] = lambda _: None
        """Called on the database thread, which goes on only if it returns."""

    async def read(self, work: Callable[..., T], *arguments: object) -> T:
        """Run ``work`` on the database thread, after every batch handed in before; again while that is away."""
        self._hand_in()
        return await self._loop.run_in_executor(self._thread, retry_transient, partial(work, *arguments))

    def insert(self, model: type[Row], pk: UUID, columns: dict[str, Any]) -> None:
        """A new row; ``columns`` by attribute name, those left out get their default. The dict is copied."""
        self._batch.changes[model, pk] = Change(model, pk, True, dict(columns), None)
        self._soon()

    def update(self, model: type[Row], pk: UUID, columns: dict[str, Any], lease: Lease | None = None) -> None:
        """Columns of a row that is there, or was inserted in this very batch."""
        known = self._batch.changes.get((model, pk))
        if known is not None and not known.insert and "status" in columns and known.columns.get("status") == "queued":
            self._batch.requeued.append(known)
            known = None
        if known is None:
            self._batch.changes[model, pk] = Change(model, pk, False, dict(columns), lease)
        else:
            known.columns.update(columns)
        self._soon()

    def effect(self, work: Callable[[], object], lease: Lease | None = None, *, wake: bool = False) -> None:
        """Something that needs the ORM, in the same transaction, after the rows of this batch."""
        self._batch.effects.append(Effect(lease, work))
        self._batch.wake |= wake
        self._soon(0.0 if wake else GATHER)

    def ingest(
        self,
        apply: Callable[[Sequence[T]], object],
        records: Sequence[T],
        lease: Lease | None = None,
        *,
        on_refused: Callable[[str], object],
    ) -> None:
        """The same with ``apply(records)``; where that is refused, with each record alone."""
        parts = [partial(apply, [record]) for record in records]
        self._batch.effects.append(Effect(lease, partial(apply, records), parts, on_refused))
        self._soon()

    def after_commit(self, work: Callable[[], object], *, at_once: bool = False) -> None:
        """Call ``work`` on the loop once everything so far is committed; ``at_once``: somebody waits for that."""
        self._batch.afterwards.append(work)
        self._soon(0.0 if at_once else GATHER)

    async def flush(self) -> None:
        """Wait until everything so far is committed."""
        if self._batch:
            self._hand_in()
        if self._writing:
            await asyncio.gather(*self._writing)

    async def close(self) -> None:
        await self.flush()
        await self._loop.run_in_executor(self._thread, connections.close_all)
        self._thread.shutdown()

    def _soon(self, seconds: float = GATHER) -> None:
        """Commit after so long; what others wait for goes at once, and takes the rest with it."""
        if self._timer is None or self._timer.when() > self._loop.time() + seconds:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(seconds, self._hand_in)

    def _hand_in(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._batch:
            return
        batch, self._batch = self._batch, Batch()
        # Submitted here, not in the task: what is read next must see it.
        task = self._loop.create_task(
            self._follow(batch, self._loop.run_in_executor(self._thread, self._commit, batch))
        )
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    def _commit(self, batch: Batch) -> "Committed | None":
        """On the database thread; None: refused. What waits behind it, such as a seal, must not be written."""
        try:
            return commit(batch)
        except Exception as error:  # noqa: BLE001 - whatever it is, the worker ends with it
            self.on_broken(error)
            return None

    async def _follow(self, batch: Batch, committing: "asyncio.Future[Committed | None]") -> None:
        committed = await committing
        if committed is None:
            return
        wake_viewers()
        if batch.wake:
            wake_local_workers()
        for effect, problem in committed.refused:
            effect.on_refused(problem)
        for work in batch.afterwards:
            work()
        for lease in committed.lost:
            self.on_lost(lease)


class Committed(NamedTuple):
    """What became of a batch."""

    lost: list[Lease]
    """Leases that were gone, whose part was dropped."""
    refused: list[tuple[Effect, str]]
    """Effects of which something was not taken, and why."""


def commit(batch: Batch) -> Committed:
    """Write one batch; while the disk is full or the database away, try again rather than lose what happened.

    A connection may break after a commit and before its answer: the same batch is then written twice, with the same
    outcome. Rows that are there stay, links and tags are found again, and a lease that was released is lost.
    """
    for _ in range(PATIENCE):
        try:
            return retry_transient(partial(_commit, batch))
        except OperationalError as error:
            log.warning("The database did not take a batch: %s action=commit_retried", error)
            time.sleep(1.0)
            connection.close_if_unusable_or_obsolete()
    return _commit(batch)


def _commit(batch: Batch) -> Committed:
    """Write one batch in one transaction."""
    with write_transaction():
        lost = _lost_leases(batch.leases())
        requeued = [change for change in batch.requeued if change.lease not in lost]
        kept = [change for change in batch.changes.values() if change.lease not in lost]
        try:
            with transaction.atomic():
                for change in requeued:
                    _write_rows([change])
                _write_rows(kept)
        except BAD_VALUES:
            _write_one_by_one([*requeued, *kept])
        outcomes = [(effect, _carry_out(effect)) for effect in batch.effects if effect.lease not in lost]
        if batch.wake:
            notify_other_machines()
    return Committed(list(lost), [(effect, problem) for effect, problem in outcomes if problem])


def _carry_out(effect: Effect) -> str:
    """One effect in savepoints of its own: what a hook printed must not take the batch down with it. Why it failed."""
    problem = _try(effect.work)
    if problem and len(effect.parts) > 1:
        problem = next(filter(None, [_try(part) for part in effect.parts]), "")
    if problem:
        log.warning("It could not be written down: %s action=effect_refused", problem)
    return problem


def _try(work: Callable[[], object]) -> str:
    """Do it, or undo it and say why.

    A second try where another worker was quicker to insert the same row: it finds that row then.
    """
    try:
        try:
            with transaction.atomic():
                work()
        except IntegrityError:
            with transaction.atomic():
                work()
    except REFUSALS as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _lost_leases(leases: Iterable[Lease]) -> set[Lease]:
    by_model: dict[type[WorkItem], list[Lease]] = {}
    for lease in leases:
        by_model.setdefault(lease.model, []).append(lease)
    lost: set[Lease] = set()
    for model, group in by_model.items():
        rows = model.rows(pk__in=[lease.pk for lease in group]).order_by("pk").select_for_update(no_key=True)
        now = {key: (owner, fence) for key, owner, fence in rows.values_list("pk", "owner", "fence")}
        lost.update(lease for lease in group if now.get(lease.pk) != (lease.owner, lease.fence))
    return lost


def _write_one_by_one(changes: Iterable[Change]) -> None:
    """A row that the database refuses does not take the others of its batch down with it."""
    for change in changes:
        try:
            with transaction.atomic():
                _write_rows([change])
        except BAD_VALUES as error:
            log.error("%s %s was not written: %s action=row_refused", change.model.__name__, change.pk, error)  # noqa: TRY400 - what it was is in its hook's log


def _write_rows(changes: Iterable[Change]) -> None:
    inserts: dict[type[Row], list[Change]] = {}
    updates: dict[tuple[type[Row], tuple[str, ...]], list[Change]] = {}
    for change in changes:
        if change.insert:
            inserts.setdefault(change.model, []).append(change)
        else:
            updates.setdefault((change.model, tuple(sorted(change.columns))), []).append(change)
    for model, group in inserts.items():
        insert_rows(model, ((change.pk, change.columns) for change in group), ignore_conflicts=True)
    for (model, columns), group in updates.items():
        update_rows(model, columns, ((change.pk, change.columns) for change in group))
