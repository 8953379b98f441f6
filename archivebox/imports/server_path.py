"""Owns which paths of the server people may name who are not at its terminal."""

import os
from pathlib import Path

from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import base_layers, resolve_settings
from archivebox.imports.page import NotReadableError

SETTING = "IMPORT_DIR"
_OF_THE_SYSTEM = (Path("/proc"), Path("/sys"), Path("/dev"))
"""Not files that somebody has saved; some of these lead to those of other processes."""


def import_root() -> Path | None:
    """Below it anything may be named; None: nothing may."""
    text = resolve_settings(base_layers()).get_text(SETTING)
    return Path(text).resolve() if text else None


def checked_path(text: str) -> Path:
    """What somebody named, without links on the way to it; NotReadableError where it may not or cannot be read.

    What lies outside of IMPORT_DIR is refused before it is looked at, so that nobody learns what is there.
    """
    root = import_root()
    if root is None:
        raise NotReadableError(f"Folders of the server cannot be named here: {SETTING} is empty.")
    path = _resolved(text)
    if not path.is_relative_to(root):
        raise NotReadableError(f"{path} is not in {root}, the folder that {SETTING} allows.")
    if any(path.is_relative_to(one) for one in _OF_THE_SYSTEM):
        raise NotReadableError(f"{path} is a folder of the system.")
    if any(path.is_relative_to(own) or own.is_relative_to(path) for own in _own_folders()):
        raise NotReadableError(f"{path} is part of this collection, or contains it.")
    return _readable(path)


def _resolved(text: str) -> Path:
    if not text.startswith("/") or not text.isprintable():
        raise NotReadableError("Enter the whole path on the server; it begins with /.")
    try:
        return Path(text).resolve()
    except (OSError, RuntimeError):  # RuntimeError: links that lead to each other
        raise NotReadableError(f"{text} cannot be followed: one of its links leads nowhere.") from None


def _own_folders() -> list[Path]:
    """The data folder, and what it keeps elsewhere by links."""
    links = (one.resolve() for one in DATA_FOLDER.root.iterdir() if one.is_symlink())
    return [DATA_FOLDER.root.resolve(), *links]


def _readable(path: Path) -> Path:
    """Reading from what is neither folder nor regular file, such as a pipe, may never end."""
    try:
        is_source, is_there = path.is_dir() or path.is_file(), path.exists()
    except OSError:
        is_source = is_there = False
    if not is_there:
        raise NotReadableError(f"Nothing was found at {path}, or the server has no permission to read it.")
    if not is_source:
        raise NotReadableError(f"{path} is neither a folder nor a regular file.")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise NotReadableError(f"The server has no permission to read {path}.")
    return path
