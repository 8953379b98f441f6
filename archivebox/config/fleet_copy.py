"""Owns the copy, in a data folder, of the settings that all machines share: the database has them.

They are wanted before a database is open, and by processes that open none.
"""

import hashlib
import json
from collections.abc import Mapping

from archivebox.contract.schema import is_of_machine
from archivebox.lib.files import atomic_write, locked
from archivebox.lib.jsonl import JSON
from archivebox.storage.layout import DataFolder


def read_fleet_copy(folder: DataFolder, url: str) -> dict[str, JSON]:
    """The settings that the database of ``url`` had last; none of those that each machine has of its own."""
    try:
        kept = json.loads(folder.fleet_settings.read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    if kept["database"] != _digest(url):
        return {}
    return {name: value for name, value in kept["settings"].items() if not is_of_machine(name)}


def write_fleet_copy(folder: DataFolder, url: str, settings: Mapping[str, str]) -> None:
    """Nothing is written where nothing has changed."""
    text = json.dumps({"database": _digest(url), "settings": dict(sorted(settings.items()))}) + "\n"
    path = folder.fleet_settings
    if not path.exists() or path.read_text() != text:
        with locked(path.with_suffix(".lock")):
            atomic_write(path, text, 0o600)


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()
