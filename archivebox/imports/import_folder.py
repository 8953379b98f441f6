"""Owns what readers and jobs keep in imports/ of the data folder: what readers make, and what was left out.

The folder of a reader is gone with it. Where the reader was killed, the next one clears it away, or the daily upkeep
does, with the files of a page that had not got its row.
"""

import csv
import fcntl
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.core.snapshot import Snapshot
from archivebox.imports.page import NotImported
from archivebox.lib.csv_lines import csv_line
from archivebox.lib.files import locked, remove_tree

_PREFIX = "reading-"
_NOTE = "writing"
"""Names the folder in the collection that gets the files of a page before its row is written."""
_SETTLED_AFTER = 600
"""Seconds after which the database has committed what a killed process sent last, or never will."""


class Scratch:
    """A folder for what a reader makes. Its lock is held for as long as the reader lives."""

    def __init__(self) -> None:
        DATA_FOLDER.imports.mkdir(mode=0o700, exist_ok=True)
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


# --- what was left out ------------------------------------------------------------------------------------------------
HEADING = ("item", "why")


@dataclass(frozen=True, slots=True)
class LeftOutList:
    """What one job did not import, and why."""

    key: UUID

    @property
    def path(self) -> Path:
        return DATA_FOLDER.imports / f"{self.key}.not-imported.csv"

    def append(self, length: int, items: Iterable[NotImported]) -> int:
        """Write ``items`` behind the first ``length`` bytes; what lies there is of a part that was cut short.

        Returns the new length.
        """
        lines = [csv_line(HEADING)] if length == 0 else []
        lines += [csv_line((one.item, one.reason)) for one in items]
        DATA_FOLDER.imports.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.truncate(length)
            file.seek(length)
            file.write("".join(lines).encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(descriptor)
            return file.tell()

    def first(self, most: int) -> list[NotImported]:
        if not self.path.is_file():
            return []
        with self.path.open(encoding="utf-8", newline="") as file:
            return [NotImported(row[0], row[1]) for row in islice(csv.reader(file), 1, most + 1)]
