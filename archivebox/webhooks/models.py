"""Webhooks and deliveries as rows: which address is told of which events, one message to it, and what came of that."""

import base64
import secrets
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.db import models

from archivebox.base_models.rows import Row
from archivebox.base_models.work import FREE_AND_WANTED, HELD, WorkItem, WorkQuerySet
from archivebox.contract.reasons import sentence

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


AGAIN_AFTER = tuple(timedelta(seconds=one) for one in (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400))
"""How long after each try that failed comes the next, as the specification of Standard Webhooks has it: three days."""


class DeliveryQuerySet(WorkQuerySet["Delivery"]):
    """Deliveries, in the words people ask for them."""


class Delivery(WorkItem):
    """A message. Its key is the ``webhook-id`` of every try, by which a receiver knows it again."""

    class StatusChoices(models.TextChoices):
        QUEUED = "queued", "queued"
        SUCCEEDED = "succeeded", "succeeded"
        FAILED = "failed", "failed"

    state_machine_name = "archivebox.webhooks.statemachines.DeliveryMachine"
    LONGEST_WAIT = AGAIN_AFTER[-1]
    """Whatever a receiver wishes."""

    # Without a constraint: a message written while its webhook is removed must not undo the change that it tells of.
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    event = models.CharField(max_length=32)
    object_id = models.UUIDField(null=True, blank=True, help_text="what it tells of")
    body = models.TextField(help_text="JSON, as it is signed and sent")
    tries = models.IntegerField(default=0)
    tried_at = models.DateTimeField(null=True, blank=True)
    took_ms = models.IntegerField(null=True, blank=True, help_text="milliseconds until the last try was over")
    http_status = models.PositiveSmallIntegerField(default=0, help_text="of the last answer; 0: there was none")
    problem = models.TextField(blank=True, default="", help_text="why the last try failed")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    objects: ClassVar[models.Manager[Any]] = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["retry_at"], condition=FREE_AND_WANTED, name="delivery_due"),
            models.Index(fields=["owner"], condition=HELD, name="delivery_held"),
            models.Index(fields=["webhook", "id"], name="delivery_of_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.pk}"

    @classmethod
    def next_due(cls, machine: UUID, since: datetime) -> "DeliveryQuerySet":
        del machine
        return cls.objects.free().filter(retry_at__gt=since)

    def end_with_reason(self, reason: str) -> None:
        self.transition("fail", problem=sentence(reason), attempts=0)
