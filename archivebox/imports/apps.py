"""Django's registration of ``archivebox.imports``."""

from django.apps import AppConfig


class ImportsConfig(AppConfig):
    name = "archivebox.imports"
    label = "imports"
