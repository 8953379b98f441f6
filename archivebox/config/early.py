"""Owns the settings that are wanted before a database is open: those of the environment, ArchiveBox.conf, the fleet."""

import os

from archivebox.config.conffile import read_conf
from archivebox.config.fleet_copy import read_fleet_copy
from archivebox.config.resolve import Layer, Resolved, SettingsResolver
from archivebox.storage.layout import DataFolder


def early_layers(folder: DataFolder) -> list[Layer]:
    """What file and environment say, and what all machines share; what other rows say comes later.

    ConfError for a file that is none.
    """
    file = read_conf(folder.conf)
    layers = [Layer("file", file), Layer("environment", dict(os.environ))]
    url = os.environ.get("DATABASE_URL") or file.get("DATABASE_URL")
    return [Layer("fleet", read_fleet_copy(folder, url)), *layers] if url else layers


def early_settings(folder: DataFolder) -> Resolved:
    """The program's own settings, without those of plugins. What is not allowed raises SettingError when asked for."""
    return SettingsResolver({}).resolve(early_layers(folder))
