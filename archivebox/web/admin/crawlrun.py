"""Crawls on each machine, in the admin."""

from django.contrib import admin

from archivebox.crawls.crawl import CrawlRun
from archivebox.web.admin.rows import RowAdmin, StatusFilter


@admin.register(CrawlRun)
class CrawlRunAdmin(RowAdmin[CrawlRun]):
    list_display = ("id", "crawl", "machine", "status", "owner", "retry_at", "ready_at", "reason")
    list_filter = (StatusFilter, "machine")
    list_select_related = ("crawl", "machine")
