"""Owns that something which lets people or programs in can be revoked."""

from django.db import models
from django.utils import timezone

from archivebox.base_models.rows import Row


class Revocable(Row):
    """A row that opens something until it is revoked."""

    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    def revoke(self) -> None:
        """It opens nothing from now on; its row stays, to be known by."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at", "modified_at"])
