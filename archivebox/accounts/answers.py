"""Answers that are kept for a day, so that a request that is sent twice is done once."""

from datetime import timedelta
from uuid import UUID

from django.db import models
from django.utils import timezone

from archivebox.base_models.rows import Row
from archivebox.base_models.transactions import write_transaction

KEPT = timedelta(days=1)


class AlreadyAnsweredError(Exception):
    """Another request with the same key was carried out meanwhile."""


class Answer(Row):
    """The answer to one request by its idempotency key, committed together with what the request has done."""

    name = models.CharField(max_length=64, unique=True, help_text="SHA-256 of who asked for what, with which key")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the request's body")
    status = models.PositiveSmallIntegerField(null=True)
    content_type = models.CharField(max_length=100, blank=True, default="")
    body = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return f"{self.status} {self.name[:8]}"

    @classmethod
    def find(cls, name: str) -> "Answer | None":
        """The stored answer to the request of this name; those that are older than a day do not count."""
        return cls.objects.filter(name=name, status__isnull=False, pk__gte=_key_before(KEPT)).first()

    @classmethod
    def delete_expired(cls) -> None:
        """Delete those that are older than a day: before any transaction, in which others would wait for these rows."""
        expired = cls.objects.filter(pk__lt=_key_before(KEPT))
        if expired.exists():
            with write_transaction():
                expired.delete()

    @classmethod
    def reserve(cls, name: str, fingerprint: str) -> None:
        """Insert the row of this request in the transaction that carries it out.

        AlreadyAnsweredError where the same request has been committed meanwhile: on PostgreSQL the unique name waits
        for its transaction to end. A row without a status is of an earlier version, whose server was killed.
        """
        cls.objects.filter(name=name, status=None).delete()
        _, is_new = cls.objects.get_or_create(name=name, defaults={"fingerprint": fingerprint})
        if not is_new:
            raise AlreadyAnsweredError

    @classmethod
    def store(cls, name: str, status: int, content_type: str, body: str) -> None:
        """Complete the row that :meth:`reserve` inserted."""
        cls.objects.filter(name=name).update(status=status, content_type=content_type[:100], body=body)


def _key_before(age: timedelta) -> UUID:
    """The least key of a row that is younger than ``age`` (UUIDv7: milliseconds first)."""
    moment = timezone.now() - age
    return UUID(int=int(moment.timestamp() * 1000) << 80)
