"""Tags in the admin, where they can be renamed."""

from django.contrib import admin
from django.http import HttpRequest

from archivebox.core.tag import Tag
from archivebox.web.admin.rows import RowAdmin


@admin.register(Tag)
class TagAdmin(RowAdmin[Tag]):
    list_display = ("name", "slug", "modified_at")
    search_fields = ("name",)
    ordering = ("name",)

    def has_change_permission(self, request: HttpRequest, obj: Tag | None = None) -> bool:
        del obj
        return request.user.is_active and request.user.is_staff and request.user.has_perm("core.change_tag")
