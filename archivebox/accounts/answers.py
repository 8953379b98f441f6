"""Answers that are kept for a day, so that a request that is sent twice is done once."""

from datetime import timedelta
from uuid import UUID

from django.db import models
from django.utils import timezone

from archivebox.base_models.rows import Row
from archivebox.base_models.transactions import write_transaction

KEPT = timedelta(days=1)
GIVEN_UP = timedelta(minutes=5)
"""A request that was begun so long ago and has no answer broke off: it may be sent again."""


class Answer(Row):
    """The answer to one request by its idempotency key; no status yet while it is being carried out."""

    name = models.CharField(max_length=64, unique=True, help_text="SHA-256 of who asked for what, with which key")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the request's body")
    status = models.PositiveSmallIntegerField(null=True)
    content_type = models.CharField(max_length=100, blank=True, default="")
    body = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return f"{self.status} {self.name[:8]}"

    @classmethod
    def reserve(cls, name: str, fingerprint: str) -> "tuple[Answer, bool]":
        """The row of this request, and whether it is the first of its kind; old ones are let go."""
        with write_transaction():
            cls.objects.filter(pk__lt=_key_before(KEPT)).delete()
            cls.objects.filter(name=name, status=None, pk__lt=_key_before(GIVEN_UP)).delete()
            return cls.objects.get_or_create(name=name, defaults={"fingerprint": fingerprint})

    def keep(self, status: int, content_type: str, body: str) -> None:
        self.status, self.content_type, self.body = status, content_type[:100], body
        self.save(update_fields=["status", "content_type", "body", "modified_at"])


def _key_before(age: timedelta) -> UUID:
    """The least key of a row that is younger than ``age`` (UUIDv7: milliseconds first)."""
    moment = timezone.now() - age
    return UUID(int=int(moment.timestamp() * 1000) << 80)
