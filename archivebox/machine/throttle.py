"""How often somebody may do something, such as guess a password: rows count the attempts at all machines together."""

from datetime import UTC, datetime

from django.db import models
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from archivebox.base_models.transactions import write_transaction

WINDOW = 300.0
"""Seconds that an attempt counts."""
LIMIT = 5
"""Attempts in the window after which the next has to wait."""


class AttemptCount(models.Model):
    """The attempts of one key that still count; ``key`` is an HMAC, as nobody should read addresses and names here."""

    key = models.CharField(max_length=64, primary_key=True)
    attempts = models.JSONField(default=list, help_text="seconds since 1970 by the database's clock")
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key


class Throttle:
    """At most ``limit`` attempts of one key in any ``window`` of seconds."""

    def __init__(self, name: str, limit: int = LIMIT, window: float = WINDOW) -> None:
        self._name = name
        self._limit = limit
        self._window = window

    def attempt(self, key: str, *, count: int = 1) -> int:
        """Count an attempt and return 0, or return the seconds until one may be made, which counts nothing.

        ``count``: attempts that are made together, at most the limit. Counted before it is known how it ends: of many
        at once no more than the limit get to the password, as the row is locked.
        """
        row = self._row(key)
        with write_transaction():
            AttemptCount.objects.filter(expires_at__lt=Now()).delete()
            new = AttemptCount(key=self._stored_as(key), expires_at=datetime.now(UTC))
            AttemptCount.objects.bulk_create([new], ignore_conflicts=True)
            attempts, now = self._counted(row.select_for_update())
            excess = len(attempts) + count - self._limit
            if excess > 0:
                return int(attempts[excess - 1] + self._window - now) + 1
            self._store(row, [*attempts, *[now] * count])
        return 0

    def is_used_up(self, key: str) -> bool:
        """Whether the next attempt has to wait."""
        return len(self._counted(self._row(key))[0]) >= self._limit

    def succeeded(self, key: str) -> None:
        """The latest attempt was right: it counts no more. Those of others do."""
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
        for attempts, now in row.annotate(now=Now()).values_list("attempts", "now"):
            moment = now.timestamp()
            return [one for one in attempts if one + self._window > moment], moment
        return [], 0.0

    def _store(self, row: "models.QuerySet[AttemptCount]", attempts: list[float]) -> None:
        row.update(attempts=attempts, expires_at=datetime.fromtimestamp(attempts[-1] + self._window, UTC))

    def _stored_as(self, key: str) -> str:
        return salted_hmac("archivebox.attempts", f"{self._name} {key}", algorithm="sha256").hexdigest()
