"""Looks: that a page was looked at again, and had not changed."""

from django.db import models

from archivebox.base_models.rows import Row
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl


class UnchangedCheck(Row):
    """One look at a page that said what its Snapshot says; when that was is in its key."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="look_set")
    crawl = models.ForeignKey(Crawl, null=True, on_delete=models.SET_NULL, related_name="look_set")
    instead = models.UUIDField(unique=True, help_text="the Snapshot that was not kept for it")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d}: unchanged"
