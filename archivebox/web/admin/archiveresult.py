"""What each hook made of each page, in the admin."""

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from archivebox.core.archiveresult import ArchiveResult
from archivebox.web.admin.process import page_of
from archivebox.web.admin.rows import RowAdmin, StatusFilter


@admin.register(ArchiveResult)
class ArchiveResultAdmin(RowAdmin[ArchiveResult]):
    list_display = (
        "id",
        "plugin",
        "hook_name",
        "status",
        "reason",
        "attempts",
        "output_size",
        "snapshot",
        "process_link",
    )
    list_filter = (StatusFilter,)
    search_fields = ("reason", "output_str", "hook_name")
    list_select_related = ("snapshot",)
    exclude = ("process",)
    readonly_fields = ("sentence", "action", "process_link")

    @admin.display(description="process")
    def process_link(self, obj: ArchiveResult) -> SafeString | str:
        """By its key alone: the row may have been cleaned up."""
        return format_html('<a href="{}">process</a>', page_of(obj.process_id)) if obj.process_id else "-"
