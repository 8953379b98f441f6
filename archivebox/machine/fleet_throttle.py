"""Owns how often somebody may do something on all machines together: rows where they share a database, else memory."""

from collections.abc import Sequence
from datetime import timedelta

from django.db import models
from django.utils.crypto import salted_hmac

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.work import lease_clock
from archivebox.lib.throttle import LIMIT, WINDOW, Throttle, seconds_to_wait
from archivebox.machine.machine_id import is_fleet


class AttemptCount(models.Model):
    """The attempts of one key that still count; ``key`` is an HMAC, as nobody should read addresses and names here."""

    key = models.CharField(max_length=64, primary_key=True)
    attempts = models.JSONField(default=list, help_text="seconds since 1970 by the database's clock")
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key


class FleetThrottle:
    """A :class:`Throttle` that counts what all machines see."""

    def __init__(self, name: str, limit: int = LIMIT, window: float = WINDOW) -> None:
        self._name = name
        self._limit = limit
        self._window = window
        self._here = Throttle(limit, window)

    def attempt(self, key: str, *, count: int = 1) -> int:
        """As :meth:`Throttle.attempt`. The row is locked: of many at once no more than the limit are let through."""
        if not is_fleet():
            return self._here.attempt(key, count=count)
        row = self._row(key)
        with write_transaction():
            AttemptCount.objects.bulk_create(
                [AttemptCount(key=self._stored_as(key), expires_at=lease_clock())], ignore_conflicts=True
            )
            attempts, now = self._counted(row.select_for_update())
            wait = seconds_to_wait(attempts, now, count=count, limit=self._limit, window=self._window)
            if not wait:
                self._store(row, [*attempts, *[now] * count])
        return wait

    def is_used_up(self, key: str) -> bool:
        """As :meth:`Throttle.is_used_up`."""
        if not is_fleet():
            return self._here.is_used_up(key)
        return len(self._counted(self._row(key))[0]) >= self._limit

    def succeeded(self, key: str) -> None:
        """As :meth:`Throttle.succeeded`; of a key without other attempts nothing stays."""
        if not is_fleet():
            self._here.succeeded(key)
            return
        row = self._row(key)
        with write_transaction():
            if others := self._counted(row.select_for_update())[0][:-1]:
                self._store(row, others)
            else:
                row.delete()

    def _row(self, key: str) -> "models.QuerySet[AttemptCount]":
        return AttemptCount.objects.filter(key=self._stored_as(key))

    def _counted(self, row: "models.QuerySet[AttemptCount]") -> tuple[list[float], float]:
        """The attempts that are not too old, and the time by the database's clock."""
        for attempts, now in row.annotate(now=lease_clock()).values_list("attempts", "now"):
            moment = now.timestamp()
            return [one for one in attempts if one + self._window > moment], moment
        return [], 0.0

    def _store(self, row: "models.QuerySet[AttemptCount]", attempts: Sequence[float]) -> None:
        row.update(attempts=list(attempts), expires_at=lease_clock() + timedelta(seconds=self._window))

    def _stored_as(self, key: str) -> str:
        return salted_hmac("archivebox.attempts", f"{self._name} {key}", algorithm="sha256").hexdigest()


def forget_attempts() -> None:
    """Delete the rows of keys whose attempts count no more."""
    AttemptCount.objects.filter(expires_at__lt=lease_clock()).delete()
