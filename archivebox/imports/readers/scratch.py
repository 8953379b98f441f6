"""Owns where readers write what they make: a folder of the collection, which is gone with its reader."""

import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.files import locked

_PREFIX = "reading-"


class Scratch:
    """A folder for what a reader makes. Its lock is held for as long as the reader lives."""

    def __init__(self) -> None:
        DATA_FOLDER.imports.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(DATA_FOLDER.imports):  # nobody clears away a folder that is not locked yet
            _clear_away(DATA_FOLDER.imports)
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=DATA_FOLDER.imports))
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._finalizer = weakref.finalize(self, _remove, self.path, descriptor)
        self._count = 0

    def page_folder(self) -> Path:
        """A new one for the files of one page."""
        self._count += 1
        return self.path / f"page-{self._count}"

    def remove(self, folder: Path) -> None:
        """Delete the files of one page."""
        shutil.rmtree(folder, ignore_errors=True)


def _remove(folder: Path, descriptor: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(descriptor)


def _clear_away(imports: Path) -> None:
    """Delete the folders of readers whose processes were killed."""
    for folder in imports.glob(f"{_PREFIX}*"):
        with locked(folder, blocking=False) as descriptor:
            if descriptor is not None:
                shutil.rmtree(folder, ignore_errors=True)
