"""Schedules in the admin."""

from django.contrib import admin
from django.urls import reverse

from archivebox.crawls.schedule import CrawlSchedule
from archivebox.web.admin.rows import RowAdmin


@admin.register(CrawlSchedule)
class CrawlScheduleAdmin(RowAdmin[CrawlSchedule]):
    list_display = ("__str__", "schedule", "timezone", "next_at", "is_waiting", "created_by")
    search_fields = ("label", "schedule")
    list_select_related = ("created_by",)

    def get_view_on_site_url(self, obj: CrawlSchedule | None = None) -> str | None:
        return None if obj is None else reverse("schedule", args=[obj.pk])
