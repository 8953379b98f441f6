"""Owns what is done once in a while for all machines that share a database, by whichever comes first."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import connection, models
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.rows import Row
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.work import lease_clock

DAILY = timedelta(days=1)


class PeriodicTask(Row):
    """When a task is due next; its row is locked by who does it."""

    name = models.CharField(max_length=64, unique=True)
    next_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


@contextmanager
def periodic_task(name: str, every: timedelta) -> Iterator[bool]:
    """Whether to do this task now: it is due, and nobody else is doing it; then it is next due after ``every``.

    In one transaction with what is done, so that a crash leaves it due. What is locked is skipped: a machine that
    hangs in the middle holds no other up.
    """
    if PeriodicTask.objects.filter(_waiting(every), name=name).exists():
        yield False
        return
    PeriodicTask.objects.get_or_create(name=name)  # committed first: who inserts the same row waits for the other
    with write_transaction():
        yield _claim(name, every)


def repeat_at_once(name: str) -> None:
    """Have a task that came to no end done again, by whoever looks next."""
    PeriodicTask.objects.filter(name=name).update(next_at=lease_clock())


def _claim(name: str, every: timedelta) -> bool:
    due = PeriodicTask.objects.filter(name=name).exclude(_waiting(every))
    if connection.features.has_select_for_update:
        due = due.select_for_update(skip_locked=True)
    keys = [task.pk for task in due]
    return bool(keys) and bool(PeriodicTask.objects.filter(pk__in=keys).update(next_at=lease_clock() + every))


def _waiting(every: timedelta) -> Q:
    """Not due yet; what waits for twice its time was written by a clock that has been set back since.

    Twice: who reads the row after another has done the task compares it with the time at which its own query began,
    which may be the earlier one.
    """
    now = lease_clock()
    return Q(next_at__gt=now, next_at__lte=now + 2 * every)
