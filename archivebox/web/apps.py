"""Django's registration of ``archivebox.web``."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in


class WebConfig(AppConfig):
    name = "archivebox.web"
    label = "web"

    def ready(self) -> None:
        """Have every log-in count as a confirmation that somebody is there."""
        from archivebox.web.auth.page_access import confirm  # models can be imported only after all apps

        user_logged_in.connect(confirm)
