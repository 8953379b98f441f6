"""Owns who on this machine may read a collection: its owner alone, unless OUTPUT_PERMISSIONS opens what is archived."""

import logging
import os
from pathlib import Path

from archivebox.config.early import early_settings
from archivebox.storage.layout import DataFolder

log = logging.getLogger(__name__)

_READ_OR_WRITE = 0o066
_READ = 0o044
_OTHERS = 0o077


def keep_private(folder: DataFolder) -> None:
    """Make the data folder if it is not there, close it to others, and have this process and its children do the same.

    What a hook or a program makes follows from the umask, which children inherit. A collection of an older version is
    tightened once: every name in the data folder, then the folder itself, which closes all below it.
    SettingError or ConfError when OUTPUT_PERMISSIONS cannot be read.
    """
    opened = _opened(folder)
    os.umask(_OTHERS & ~opened)
    folder.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = 0o700 | (opened & 0o011)  # others may pass through to `users`, and see no name beside it
    if folder.root.stat().st_mode & 0o777 == wanted:
        return
    try:
        for path in folder.root.iterdir():
            _set_mode(path, 0o700 | opened if path == folder.users else ~_OTHERS)
        folder.root.chmod(wanted)
    except PermissionError as error:
        log.warning("%s belongs to another user: who may read it cannot be set (%s).", folder.root, error.strerror)


def _opened(folder: DataFolder) -> int:
    """The bits of a folder of outputs that others get: reading a folder takes passing through it."""
    bits = int(early_settings(folder).get_text("OUTPUT_PERMISSIONS"), 8) & _READ_OR_WRITE
    return bits | (bits & _READ) >> 2


def _set_mode(path: Path, mode: int) -> None:
    """Give ``path`` these permissions, or (negative) take all others away; a link is left alone."""
    if not path.is_symlink():
        path.chmod(path.stat().st_mode & 0o777 & mode if mode < 0 else mode)
