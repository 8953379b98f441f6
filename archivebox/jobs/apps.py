"""Django's registration of ``archivebox.jobs``."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "archivebox.jobs"
    label = "jobs"
