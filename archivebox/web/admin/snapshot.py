"""Snapshots in the admin."""

from django.contrib import admin
from django.urls import reverse

from archivebox.core.snapshot import Snapshot
from archivebox.web.admin.rows import RowAdmin, StatusFilter


@admin.register(Snapshot)
class SnapshotAdmin(RowAdmin[Snapshot]):
    list_display = (
        "id",
        "url",
        "title",
        "status",
        "current_step",
        "depth",
        "owner",
        "retry_at",
        "reason",
        "created_at",
    )
    list_filter = (StatusFilter,)
    search_fields = ("url", "title")
    raw_id_fields = ("crawl", "parent_snapshot")

    def get_view_on_site_url(self, obj: Snapshot | None = None) -> str | None:
        return None if obj is None else reverse("snapshot", args=[obj.pk])
