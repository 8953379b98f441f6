"""Webhooks as rows: which address is told of which events, with which secret."""

import base64
import secrets
from typing import Any

from django.conf import settings
from django.db import models

from archivebox.base_models.rows import Row

SECRET_PREFIX = "whsec_"  # noqa: S105 - what every secret begins with
SECRET_BYTES = 32


class Event(models.TextChoices):
    """What can be told."""

    SNAPSHOT_SEALED = "snapshot.sealed", "a page is archived, or was tried again"
    SNAPSHOT_FAILED = "snapshot.failed", "a page could not be archived"
    CRAWL_FINISHED = "crawl.finished", "a crawl finished"
    CRAWL_PAUSED = "crawl.paused", "a crawl was paused"
    CRAWL_CANCELLED = "crawl.cancelled", "a crawl was cancelled"
    JOB_FINISHED = "job.finished", "a job, such as an export, has ended"
    SCHEDULE_STARTED = "schedule.started", "a schedule has begun its next crawl"


TEST = "webhook.test"
"""The event of a message that somebody sends to see whether it comes."""


def new_secret() -> str:
    """A secret as the specification writes it: ``whsec_`` and 24 to 64 random bytes in base64."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


class Webhook(Row):
    """One address, and what it is told.

    The secret is stored as it is: it signs. Whoever reads the database could forge messages to this one address.
    """

    url = models.TextField(max_length=2000)
    label = models.CharField(max_length=100, blank=True, default="", help_text="what it is for")
    events = models.JSONField(default=list)
    query = models.TextField(blank=True, default="", help_text="pages that it is told of; empty: all")
    secret = models.CharField(max_length=100, default=new_secret)
    failures = models.IntegerField(default=0, help_text="tries in a row that failed")
    succeeded_at = models.DateTimeField(null=True, blank=True, help_text="when it last took a message")
    disabled_at = models.DateTimeField(null=True, blank=True, help_text="empty: it is on")
    problem = models.TextField(blank=True, default="", help_text="why it was switched off, where nobody did so")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.label or self.url

    @property
    def is_enabled(self) -> bool:
        return self.disabled_at is None


def subscriptions() -> models.QuerySet[Webhook, Any]:
    """Webhooks that are on, with their owners and events."""
    return Webhook.objects.filter(disabled_at=None).order_by("pk").values_list("pk", "created_by_id", "events")
