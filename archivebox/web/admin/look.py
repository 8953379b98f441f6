"""Looks in the admin: which pages were looked at again, and had not changed."""

from django.contrib import admin

from archivebox.core.unchanged_check import Look
from archivebox.web.admin.rows import RowAdmin


@admin.register(Look)
class LookAdmin(RowAdmin[Look]):
    list_display = ("id", "snapshot", "crawl")
    list_select_related = ("snapshot", "crawl")
