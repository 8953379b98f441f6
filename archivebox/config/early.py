"""Owns the settings that are wanted before a database is open: the environment's, else those of ArchiveBox.conf."""

import os

from archivebox.config.conffile import read_conf
from archivebox.config.resolve import Layer, Resolved, SettingsResolver
from archivebox.storage.layout import DataFolder


def early_layers(folder: DataFolder) -> list[Layer]:
    """What file and environment say; what rows and crawls say comes later. ConfError for a file that is none."""
    return [Layer("file", read_conf(folder.conf)), Layer("environment", dict(os.environ))]


def early_settings(folder: DataFolder) -> Resolved:
    """The program's own settings, without those of plugins. What is not allowed raises SettingError when asked for."""
    return SettingsResolver({}).resolve(early_layers(folder))
