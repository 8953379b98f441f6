"""What every item of work has in common: status, lease, fence, request, and its state machine.

The rows are the queue. ``retry_at`` is when an item next wants attention, and NULL exactly when it wants none; of a
leased item it is the end of the lease. Only the holder of the lease changes a leased row; others leave a ``request``.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Self, TypeVar, cast
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from statemachine import State, StateMachine

from archivebox.base_models.rows import Row
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.transitions import Transition, TransitionRefusedError

LEASE = timedelta(seconds=float(os.environ.get("ARCHIVEBOX_LEASE_SECONDS") or 30))
"""How long a worker holds an item without a renewal; the variable lets tests see a lease end without waiting for it."""
RENEW_EVERY = LEASE.total_seconds() / 3
"""Seconds between two renewals of a lease."""

LONGEST_BACK_OFF = timedelta(hours=1)
"""After which what failed is tried again at the latest, give or take a fifth."""
MOST_BACK_OFF = LONGEST_BACK_OFF * 1.25
"""No back-off ends later than this."""

FREE_AND_WANTED = Q(owner__isnull=True, retry_at__isnull=False)
HELD = Q(owner__isnull=False)

RELEASE_COLUMNS: dict[str, object] = {"owner": None, "retry_at": None}
"""Columns of an item that nobody holds and that wants no attention."""
REQUEUE_COLUMNS: dict[str, object] = {"owner": None, "retry_at": timezone.now}
"""Columns of an item that nobody holds and that is due as soon as the transition is made."""


def lease_clock() -> "Now | datetime":
    """The time by which leases and signs of life are judged, for a query.

    Machines that share a database have clocks of their own, and one that is late would have its work taken from it: by
    PostgreSQL's clock they agree.
    """
    return Now() if connection.vendor == "postgresql" else timezone.now()


class Request(models.TextChoices):
    """What somebody who does not hold the lease asks of the holder."""

    NONE = "", "none"
    PAUSE = "pause", "pause"
    CANCEL = "cancel", "cancel"
    KILL = "kill", "kill"


Item = TypeVar("Item", bound="WorkItem")


class WorkQuerySet(models.QuerySet[Item]):
    """The statements of the queue, the same on SQLite and PostgreSQL; the one that takes is :meth:`WorkItem.claim`."""

    def free(self) -> Self:
        """Items that nobody holds and that want attention at some time."""
        return self.filter(FREE_AND_WANTED)

    def due(self, now: datetime | None = None) -> Self:
        """Free items whose time has come, the longest waiting first."""
        return self.free().filter(retry_at__lte=now or timezone.now()).order_by("retry_at")

    def scheduled_beyond_maximum(self, now: datetime) -> Self:
        """Free items that wait for longer than any may: a clock that has been set back since wrote that."""
        too_long = self.free().filter(retry_at__gt=now + self.model.LONGEST_WAIT)
        return too_long.exclude(status="sealed", retry_at__lte=now + MOST_BACK_OFF)

    def held_by(self, owner: UUID) -> Self:
        return self.filter(owner=owner)

    def renew(self, owner: UUID) -> int:
        return self.held_by(owner).update(retry_at=lease_clock() + LEASE)

    def expired(self) -> Self:
        """Held items whose holder has not renewed its lease in time."""
        return self.filter(HELD, retry_at__lt=lease_clock())

    def reclaim(self, owner: UUID, weight: int = 1) -> int:
        """Give back what a worker held that is gone: due at once, and the weight of its death added to the attempts."""
        return self.held_by(owner).update(owner=None, retry_at=timezone.now(), attempts=F("attempts") + weight)

    def release(self, owner: UUID, retry_at: datetime | None = None) -> int:
        """Give back what its holder does not finish now; no attempt is counted."""
        return self.held_by(owner).update(owner=None, retry_at=retry_at or timezone.now())

    def in_sources_of(self, event: str) -> Self:
        """Items in a status from which this transition leads."""
        return self.filter(status__in=transition_table(self.model.state_machine_name)[event].sources)

    def transition(self, event: str, **fields: object) -> int:
        """Carry out one transition on all that are in one of its sources; returns how many were.

        What entering the new status does to a row (``run()``, ``cleanup()``) is the caller's, for all of them at once.
        """
        line = transition_table(self.model.state_machine_name)[event]
        return self.filter(status__in=line.sources).update(**line.columns_of(fields))

    def lock(self) -> None:
        """Let nobody else change these rows, or claim or release their leases, until the transaction ends.

        On SQLite who writes is alone anyway.
        """
        if connection.features.has_select_for_update:
            list(self.order_by("pk").select_for_update(no_key=True).values_list("pk"))


class WorkItem(Row):
    """A row that a worker leases, works on and seals."""

    status = models.CharField(max_length=16, default="queued")
    retry_at = models.DateTimeField(null=True, blank=True, default=timezone.now)
    owner = models.UUIDField(null=True, blank=True, help_text="Process row of the worker that holds the lease")
    fence = models.IntegerField(default=0, help_text="grows with every lease; checked on every write of a result")
    attempts = models.IntegerField(default=0)
    request = models.CharField(max_length=8, choices=Request.choices, default=Request.NONE, blank=True)
    reason = models.CharField(max_length=128, blank=True, default="", help_text="reason code of the present status")
    output_dir = models.CharField(max_length=512, blank=True, default="", help_text="relative to the data folder")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    state_machine_name: ClassVar[str]
    LONGEST_WAIT: ClassVar[timedelta] = timedelta(minutes=1)
    """What is open is due at once, or within seconds; what is sealed may wait for a back-off."""

    class Meta:
        abstract = True

    @classmethod
    def rows(cls, **conditions: object) -> "WorkQuerySet[Any]":
        """Rows of this kind, whichever it is, with the statements of the queue."""
        return cast("WorkQuerySet[Any]", cls._default_manager.filter(**conditions))

    @classmethod
    def claim(cls, keys: Sequence[UUID], owner: UUID) -> dict[UUID, int]:
        """Lease those of ``keys`` that are due and free, and never touch their status: their fences, by key.

        Only what is due and free is locked and changed, so that of two workers who want it one has it.
        """
        with write_transaction():
            free = cls.rows(pk__in=keys).due().order_by("pk").select_for_update(no_key=True)
            fences = {key: fence + 1 for key, fence in free.values_list("pk", "fence")}
            taken = {"owner": owner, "fence": F("fence") + 1, "retry_at": lease_clock() + LEASE}
            cls.rows(pk__in=list(fences)).update(**taken)
        return {key: fences[key] for key in keys if key in fences}

    @classmethod
    def next_due(cls, machine: UUID, since: datetime) -> "WorkQuerySet[Any] | None":
        """Free items of this kind whose first ``retry_at`` an idle worker waits for; None: it need not.

        ``since``: what was due by then waits for capacity, of which its worker is told.
        """
        del machine, since
        return None

    def end_with_reason(self, reason: str) -> None:
        """End it with this reason code, in the hands of its holder: it cannot be worked on, or kills its workers."""
        raise NotImplementedError(f"{type(self).__name__}: {reason}")

    def cleanup(self) -> None:
        """What entering the end of its life does."""

    def transition(self, event: str, **fields: object) -> None:
        """Carry out one transition of its machine, with more columns written by the same guarded update.

        The guard is (id, owner, fence, status): two workers that believe they hold the same row cannot both write. What
        entering the new status does (``cleanup()``, …) is of the same transaction, and only writes rows. Raises
        TransitionRefusedError when its status knows no such transition, or the row has changed since it was read.
        """
        line = transition_table(self.state_machine_name).get(event)
        if line is None or self.status not in line.sources:
            raise TransitionRefusedError(f"{type(self).__name__} {self.pk} is {self.status}: it cannot {event}")
        with transaction.atomic():
            self._apply(line, fields)
            for enter in line.enters:
                getattr(self, enter)()

    def _apply(self, line: Transition, fields: Mapping[str, object]) -> None:
        columns = line.columns_of(fields)
        if not type(self)._default_manager.filter(self.guard(), status=self.status).update(**columns):
            raise TransitionRefusedError(f"{type(self).__name__} {self.pk} is no longer {self.status} and ours")
        for name, value in columns.items():
            setattr(self, name, value)

    def guard(self) -> Q:
        """The row as its holder knows it; a write through this guard fails once the lease is lost."""
        return Q(pk=self.pk, owner=self.owner, fence=self.fence)

    def update_and_requeue(self, **fields: Any) -> bool:
        """Write ``fields`` to this row if it is still as we know it (owner and fence); bumps ``modified_at``."""
        fields["modified_at"] = timezone.now()
        if not type(self)._default_manager.filter(self.guard()).update(**fields):
            return False
        for name, value in fields.items():
            setattr(self, name, value)
        return True

    def ask(self, request: Request) -> bool:
        """Leave a request with the holder of this row; False when nobody holds it (then the asker acts itself)."""
        return bool(type(self)._default_manager.filter(pk=self.pk).filter(HELD).update(request=request))


class StoppableItem(WorkItem):
    """An item that people may pause, resume and cancel."""

    class StatusChoices(models.TextChoices):
        QUEUED = "queued", "queued"
        STARTED = "started", "started"
        SEALED = "sealed", "sealed"
        PAUSED = "paused", "paused"
        CANCELLED = "cancelled", "cancelled"

    OPEN = (StatusChoices.QUEUED, StatusChoices.STARTED)

    class Meta:
        abstract = True


@cache
def work_models() -> tuple[type[WorkItem], ...]:
    """Every kind of row that has a lease."""
    return tuple(model for model in apps.get_models() if issubclass(model, WorkItem) and not model._meta.proxy)


class WorkMachine(StateMachine):
    """A life cycle: its states, each with the methods of the row that entering it calls, and its transitions.

    Declared for python-statemachine and carried out by :meth:`WorkItem.transition` from the table of its lines, since
    a machine takes 0.2 ms to be built for a row.
    """

    columns: ClassVar[dict[str, dict[str, object]]] = {}
    """Those that a transition sets beside the status, by event; what is callable is called then."""


@cache
def transition_table(state_machine_name: str) -> Mapping[str, Transition]:
    """The table of a machine, by event. Each takes back what was asked of the holder before."""
    module, _, name = state_machine_name.rpartition(".")
    machine: type[WorkMachine] = getattr(import_module(module), name)
    ways: dict[str, list[tuple[State, State]]] = {}
    for state in machine.states:
        for way in state.transitions:
            for event in way.events:
                ways.setdefault(event.id, []).append((state, way.target))
    return {event: _line(machine, event, each) for event, each in ways.items()}


def _line(machine: type[WorkMachine], event: str, ways: Sequence[tuple[State, State]]) -> Transition:
    """One event, which leads to one state from wherever it may be."""
    targets = {target.id: target for _, target in ways}
    ((target_id, target),) = targets.items()
    columns = {"request": Request.NONE, **machine.columns.get(event, {})}
    return Transition(frozenset(state.id for state, _ in ways), target_id, columns, _entering(target))


def _entering(state: State) -> tuple[str, ...]:
    """What a state was declared with as ``enter``; the rest are names that the library would try."""
    return tuple(spec.attr_name for spec in state.enter if not spec.is_convention)
