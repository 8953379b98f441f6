"""The record of what people and their tokens changed: who, when, what, and from where."""

from contextvars import ContextVar
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.utils import timezone

from archivebox.base_models.rows import Row
from archivebox.config.early import early_settings
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.jsonl import JSON

ADDRESS: ContextVar[str] = ContextVar("ADDRESS", default="")
"""Whose request this thread is answering; empty at the command line."""
_BATCH = 500
"""Old entries that go each time that a new one comes."""


class AuditEntry(Row):
    """One change; it outlives the account and the token by which it was made."""

    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    username = models.CharField(max_length=150, blank=True, default="", help_text="empty: somebody without a log-in")
    token = models.CharField(max_length=100, blank=True, default="", help_text="label of the token that was used")
    address = models.CharField(max_length=60, blank=True, default="", help_text="empty: from the command line")
    action = models.CharField(max_length=64, help_text="what happened to what, such as user.disabled")
    object_id = models.CharField(max_length=64, blank=True, default="")
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.username or 'somebody'}: {self.action} {self.object_id}".strip()


def record(
    user: User | AnonymousUser | None,
    action: str,
    target: models.Model | None = None,
    *,
    token: str = "",
    **detail: JSON,
) -> AuditEntry:
    """Write down that ``user`` did ``action`` to ``target``.

    Call it in the transaction of the change, so that neither is there without the other; where that is several
    transactions, before the first of them.
    """
    _forget_old()
    known = user if isinstance(user, User) else None
    entry: AuditEntry = AuditEntry.objects.create(
        user=known,
        username=known.username if known else "",
        token=token[:100],
        address=ADDRESS.get()[:60],
        action=action,
        object_id="" if target is None else str(target.pk),
        detail=detail,
    )
    return entry


def _forget_old() -> None:
    """Let go of a batch of what is older than AUDIT_RETENTION_DAYS (0: of nothing)."""
    days = early_settings(DATA_FOLDER).get_int("AUDIT_RETENTION_DAYS")
    if days:
        moment = timezone.now() - timedelta(days=days)
        old = AuditEntry.objects.filter(pk__lt=UUID(int=int(moment.timestamp() * 1000) << 80)).order_by("pk")
        AuditEntry.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:_BATCH])).delete()
