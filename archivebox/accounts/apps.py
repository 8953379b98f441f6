"""Django's registration of ``archivebox.accounts``."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out


class AccountsConfig(AppConfig):
    name = "archivebox.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Have every log-in put on record, whichever way somebody came in."""
        from archivebox.accounts.entering import came_in, left  # models can be imported only after all apps

        user_logged_in.connect(came_in)
        user_logged_out.connect(left)
