"""Django's registration of ``archivebox.accounts``."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out


class AccountsConfig(AppConfig):
    name = "archivebox.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Have every log-in put on record, whichever way somebody came in."""
        from archivebox.accounts.login_log import log_login, log_logout  # models can be imported only after all apps

        user_logged_in.connect(log_login)
        user_logged_out.connect(log_logout)
