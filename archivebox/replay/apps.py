"""Django's registration of ``archivebox.replay``."""

from django.apps import AppConfig


class ReplayConfig(AppConfig):
    name = "archivebox.replay"
    label = "replay"
