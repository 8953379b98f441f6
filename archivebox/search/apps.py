"""Django's registration of ``archivebox.search``."""

from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "archivebox.search"
    label = "search"
