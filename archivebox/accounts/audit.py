"""The record of what people and their tokens changed: who, when, what."""

from django.contrib.auth.models import AnonymousUser, User
from django.db import models

from archivebox.base_models.rows import Row
from archivebox.lib.jsonl import JSON


class AuditEntry(Row):
    """One change; it outlives the account and the token by which it was made."""

    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    username = models.CharField(max_length=150, blank=True, default="", help_text="empty: somebody without a log-in")
    token = models.CharField(max_length=100, blank=True, default="", help_text="label of the token that was used")
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
    """Write down that ``user`` did ``action`` to ``target``. Call it in the transaction of the change itself."""
    known = user if isinstance(user, User) else None
    entry: AuditEntry = AuditEntry.objects.create(
        user=known,
        username=known.username if known else "",
        token=token[:100],
        action=action,
        object_id="" if target is None else str(target.pk),
        detail=detail,
    )
    return entry
