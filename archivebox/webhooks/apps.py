"""Django's registration of ``archivebox.webhooks``."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "archivebox.webhooks"
    label = "webhooks"
