"""Hosts in the admin, where the delay between two visits can be set."""

from django.contrib import admin
from django.http import HttpRequest

from archivebox.crawls.crawl import Domain
from archivebox.web.admin.rows import RowAdmin


@admin.register(Domain)
class DomainAdmin(RowAdmin[Domain]):
    list_display = ("name", "delay", "max_parallel", "next_at")
    search_fields = ("name",)
    readonly_fields = ("name", "next_at")

    def has_change_permission(self, request: HttpRequest, obj: Domain | None = None) -> bool:
        del obj
        return request.user.is_active and request.user.is_staff and request.user.has_perm("crawls.change_domain")
