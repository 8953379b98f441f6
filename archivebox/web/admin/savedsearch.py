"""Saved searches in the admin."""

from django.contrib import admin

from archivebox.search.models import SavedSearch
from archivebox.web.admin.rows import RowAdmin


@admin.register(SavedSearch)
class SavedSearchAdmin(RowAdmin[SavedSearch]):
    list_display = ("name", "query", "owner")
    search_fields = ("name", "query")
