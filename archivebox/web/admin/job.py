"""Jobs in the admin."""

from django.contrib import admin

from archivebox.jobs.models import Job
from archivebox.web.admin.rows import RowAdmin


@admin.register(Job)
class JobAdmin(RowAdmin[Job]):
    list_display = ("kind", "status", "total", "done", "failed", "query", "ended_at")
    list_filter = ("status", "kind")
