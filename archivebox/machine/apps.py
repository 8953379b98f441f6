"""Django's registration of ``archivebox.machine``."""

from django.apps import AppConfig


class MachineConfig(AppConfig):
    name = "archivebox.machine"
    label = "machine"
