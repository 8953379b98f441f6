"""Crawls that come again by themselves."""

from django.conf import settings
from django.db import models

from archivebox.base_models.rows import Row


class CrawlSchedule(Row):
    """A crawl to be made again whenever its schedule says so."""

    schedule = models.CharField(max_length=64, help_text="cron expression or daily, weekly, monthly")
    is_enabled = models.BooleanField(default=True)
    label = models.CharField(max_length=255, blank=True, default="")
    template = models.JSONField(default=dict, help_text="urls, depth, tags and settings of the crawls it makes")
    next_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return self.label or self.schedule
