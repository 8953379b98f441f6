"""Django's registration of ``archivebox.accounts``."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "archivebox.accounts"
    label = "accounts"
