"""Django's registration of ``archivebox.web``."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "archivebox.web"
    label = "web"
