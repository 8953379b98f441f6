"""Unchanged checks in the admin: which pages were looked at again, and had not changed."""

from django.contrib import admin

from archivebox.core.unchanged_check import UnchangedCheck
from archivebox.web.admin.rows import RowAdmin


@admin.register(UnchangedCheck)
class UnchangedCheckAdmin(RowAdmin[UnchangedCheck]):
    list_display = ("id", "snapshot", "crawl")
    list_select_related = ("snapshot", "crawl")
