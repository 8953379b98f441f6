"""Programs that plugins need, in the admin."""

from django.contrib import admin

from archivebox.machine.binary import Binary
from archivebox.web.admin.rows import RowAdmin, StatusFilter


@admin.register(Binary)
class BinaryAdmin(RowAdmin[Binary]):
    list_display = ("name", "version", "status", "binprovider", "abspath", "machine", "message", "modified_at")
    list_filter = (StatusFilter, "binprovider", "machine")
    search_fields = ("name", "abspath", "version")
    list_select_related = ("machine",)
