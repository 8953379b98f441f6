"""Machines in the admin."""

from django.contrib import admin

from archivebox.machine.host import Machine
from archivebox.web.admin.rows import RowAdmin


@admin.register(Machine)
class MachineAdmin(RowAdmin[Machine]):
    list_display = ("id", "hostname", "os_platform", "arch", "cpu_count", "memory_bytes", "in_container", "seen_at")
    list_filter = ("os_family", "arch", "in_container")
    search_fields = ("hostname",)
