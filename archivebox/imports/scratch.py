"""Owns where readers write what they make: a folder of the collection, which is gone with its reader.

Where the reader was killed, the next one clears it away, or the daily upkeep does, with the files of a page that had
not got its row.
"""

import fcntl
import os
import shutil
import tempfile
import time
import weakref
from pathlib import Path

from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot
from archivebox.lib.files import locked, remove_tree

_PREFIX = "reading-"
_NOTE = "writing"
"""Names the folder in the collection that gets the files of a page before its row is written."""
_SETTLED_AFTER = 600
"""Seconds after which the database has committed what a killed process sent last, or never will."""


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

    def note_page(self, folder: str) -> None:
        """Have the folder of a page deleted, should this process be killed before the page has its row."""
        (self.path / _NOTE).write_text(folder)

    def remove(self, folder: Path) -> None:
        """Delete the files of one page."""
        shutil.rmtree(folder, ignore_errors=True)


def remove_left_folders() -> None:
    """Delete what readers have left whose processes were killed."""
    if DATA_FOLDER.imports.is_dir():
        with locked(DATA_FOLDER.imports):
            _clear_away(DATA_FOLDER.imports)


def _remove(folder: Path, descriptor: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(descriptor)


def _clear_away(imports: Path) -> None:
    """Delete the folders of readers whose processes were killed."""
    for folder in imports.glob(f"{_PREFIX}*"):
        with locked(folder, blocking=False) as descriptor:
            if descriptor is not None and _remove_page_without_row(folder / _NOTE):
                shutil.rmtree(folder, ignore_errors=True)


def _remove_page_without_row(note: Path) -> bool:
    """Delete what a killed process has written of the page that it noted, without a row; False: too early to know."""
    if not note.exists():
        return True
    if time.time() - note.stat().st_mtime < _SETTLED_AFTER:
        return False
    page = DATA_FOLDER.root / (note.read_text() or "-")
    if page.is_dir() and page.is_relative_to(DATA_FOLDER.users) and not Snapshot.objects.filter(pk=page.name).exists():
        remove_tree(page)
    return True
