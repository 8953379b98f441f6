"""Django's registration of ``archivebox.core``."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "archivebox.core"
    label = "core"
