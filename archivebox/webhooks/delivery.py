"""Deliveries as rows: one message to one webhook, and what came of it."""

from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.db import models

from archivebox.base_models.work import FREE_AND_WANTED, HELD, WorkItem, WorkQuerySet
from archivebox.contract.reasons import sentence
from archivebox.webhooks.webhook import Webhook

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
