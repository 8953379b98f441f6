"""Crawls in the admin."""

from django.contrib import admin
from django.urls import reverse

from archivebox.crawls.crawl import Crawl
from archivebox.web.admin.rows import RowAdmin, StatusFilter


@admin.register(Crawl)
class CrawlAdmin(RowAdmin[Crawl]):
    list_display = ("id", "__str__", "status", "max_depth", "created_by", "retry_at", "created_at")
    list_filter = (StatusFilter,)
    search_fields = ("label", "urls", "tags_str")
    list_select_related = ("created_by",)

    def get_view_on_site_url(self, obj: Crawl | None = None) -> str | None:
        return None if obj is None else reverse("crawl", args=[obj.pk])
