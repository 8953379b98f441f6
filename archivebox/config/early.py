"""Owns the settings that are wanted before a database is open: those of the environment, ArchiveBox.conf, the fleet."""

import logging
import os
from pathlib import Path

from archivebox.config.conffile import ConfError, read_conf
from archivebox.config.fleet_copy import read_fleet_copy
from archivebox.config.resolve import Layer, Resolved, SettingsResolver
from archivebox.storage.layout import DataFolder

log = logging.getLogger(__name__)

_last: dict[Path, dict[str, str]] = {}
"""What each file said when it could be read."""
_problems: dict[Path, str] = {}
_keeps_last: list[bool] = []


def keep_last_conf() -> None:
    """Work on, here and in forked processes, with the last settings of a file that is saved at this moment."""
    _keeps_last[:] = [True]


def own_conf(folder: DataFolder) -> dict[str, str]:
    """What ArchiveBox.conf says, or said last (:func:`keep_last_conf`). ConfError for a file that is none, OSError."""
    path, problem = folder.conf, ""
    try:
        _last[path] = read_conf(path)
    except (ConfError, OSError) as error:
        if not _keeps_last or path not in _last:
            raise
        problem = str(error)
    if problem != _problems.get(path, ""):
        sentence = f"{problem}: its last settings hold" if problem else f"{path} can be read again"
        log.warning("%s. action=conf_checked", sentence)
        _problems[path] = problem
    return _last[path]


def early_layers(folder: DataFolder) -> list[Layer]:
    """What file and environment say, and what all machines share; what other rows say comes later.

    ConfError for a file that is none.
    """
    file = own_conf(folder)
    layers = [Layer("file", file), Layer("environment", dict(os.environ))]
    url = os.environ.get("DATABASE_URL") or file.get("DATABASE_URL")
    return [Layer("fleet", read_fleet_copy(folder, url)), *layers] if url else layers


def early_settings(folder: DataFolder) -> Resolved:
    """The program's own settings, without those of plugins. What is not allowed raises SettingError when asked for."""
    return SettingsResolver({}).resolve(early_layers(folder))
