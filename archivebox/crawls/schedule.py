"""Crawls that come again by themselves."""

from datetime import datetime, timedelta
from enum import Enum
from typing import ClassVar, TypedDict

from django.conf import settings
from django.db import models
from django.db.models import Q

from archivebox.base_models.rows import Row
from archivebox.base_models.visibility import VisibleRow
from archivebox.crawls.recurrence import Recurrence, parse
from archivebox.lib.jsonl import JSON

MISSED_AFTER = timedelta(minutes=5)
"""Whose time has come so long ago, and was not seen until now, was missed: nobody was at work."""


class Template(TypedDict):
    """What each of its crawls is made of."""

    urls: list[str]
    max_depth: int
    tags: list[str]
    persona: str
    config: dict[str, JSON]


class DueAction(Enum):
    """What becomes of a time that has come."""

    CRAWL = "crawl"
    WAIT = "wait"
    SKIP = "skip"


class CrawlSchedule(Row, VisibleRow):
    """A crawl to be made again whenever its schedule says so; its crawls are seen by those who see it."""

    class Overlap(models.TextChoices):
        """What becomes of a time that comes while the last crawl still runs."""

        WAIT = "wait", "wait until it has ended"
        SKIP = "skip", "skip this run"

    class CatchUp(models.TextChoices):
        """What becomes of times at which nothing was running here."""

        ONCE = "once", "after downtime, run once"
        SKIP = "skip", "leave them out"

    class Why(models.TextChoices):
        """Why a time was left out."""

        OVERLAP = "overlap", "its last crawl still ran"
        MISSED = "missed", "nothing was running here at that time"
        BROKEN = "broken", "its time could not be understood, so it was paused"
        MISCONFIGURED = "settings", "a setting could not be understood"
        DISABLED = "disabled", "the account that it belongs to was disabled, so it was paused"

    schedule = models.CharField(max_length=64, help_text="cron expression, length of time, or daily, weekly, monthly")
    timezone = models.CharField(max_length=64, default="UTC", help_text="by whose clocks")
    label = models.CharField(max_length=255, blank=True, default="")
    template = models.JSONField(default=dict, help_text="urls, depth, tags and settings of the crawls it makes")
    overlap = models.CharField(max_length=8, choices=Overlap.choices, default=Overlap.WAIT)
    catch_up = models.CharField(max_length=8, choices=CatchUp.choices, default=CatchUp.ONCE)
    recapture = models.BooleanField(default=False, help_text="links that one of its crawls has archived, too")
    next_at = models.DateTimeField(null=True, blank=True, help_text="empty: it is paused")
    is_waiting = models.BooleanField(default=False, help_text="its time has come while its last crawl runs")
    skipped_at = models.DateTimeField(null=True, blank=True, help_text="the last time that was left out")
    skipped_for = models.CharField(max_length=8, choices=Why.choices, blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    EDITED: ClassVar = ("schedule", "timezone", "label", "template", "overlap", "catch_up", "recapture", "visibility")
    """Columns that people write; the others are the engine's."""

    class Meta:
        verbose_name = "schedule"
        indexes = [models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="schedule_due")]

    def __str__(self) -> str:
        return self.label or next(iter(self.template.get("urls", ())), "") or self.schedule

    @property
    def timing(self) -> tuple[str, str]:
        return self.schedule, self.timezone

    @property
    def recurrence(self) -> Recurrence:
        """ValueError where it cannot be understood."""
        return parse(*self.timing)

    @property
    def is_paused(self) -> bool:
        return self.next_at is None

    def was_missed(self, now: datetime) -> bool:
        """Whether its time came while nobody was at work; one that was seen, and waits, was not."""
        return self.next_at is not None and not self.is_waiting and now - self.next_at > MISSED_AFTER

    def due_action(self, now: datetime, *, is_busy: bool) -> DueAction:
        """What becomes of its time, which has come; ``is_busy``: its last crawl has not ended."""
        if self.was_missed(now) and self.catch_up == self.CatchUp.SKIP:
            return DueAction.SKIP
        if is_busy:
            return DueAction.WAIT if self.overlap == self.Overlap.WAIT else DueAction.SKIP
        return DueAction.CRAWL
