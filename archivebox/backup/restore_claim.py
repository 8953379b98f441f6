"""Owns the mark of a folder into which a backup is being restored: one restore at a time, and it can be continued."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from archivebox.backup.manifest import BackupSummary
from archivebox.lib.files import locked
from archivebox.lib.syncing import sync_file_system
from archivebox.storage.layout import DataFolder


class RestoreError(Exception):
    """A backup that cannot be restored there; the message says what to do. Nothing that was there is touched."""


@dataclass(frozen=True, slots=True)
class RestoreClaim:
    """Restoring one backup into one folder, and one database."""

    folder: DataFolder
    summary: BackupSummary
    url: str

    @property
    def is_continued(self) -> bool:
        """Whether an interrupted restore of the same backup to the same place has begun what is in the folder."""
        return _read(self.folder.restore_mark) == self._text

    @contextmanager
    def held(self) -> Iterator[None]:
        """Mark the folder, so that nobody opens it as a collection, until the block ends without an exception."""
        mark = self.folder.restore_mark
        self.folder.root.mkdir(mode=0o700, exist_ok=True)
        self.refuse_used_folder()
        with locked(mark, blocking=False) as lock:
            if lock is None:
                raise RestoreError(f"Another `archivebox restore` into {self.folder.root} is running.")
            self._write_mark()
            yield
            sync_file_system(self.folder.root)
            mark.unlink()
            sync_file_system(self.folder.root)

    def refuse_used_folder(self) -> None:
        """RestoreError where anything is in the folder that this restore has not put there."""
        root, mark = self.folder.root, self.folder.restore_mark
        if self.is_continued or not root.exists():
            return
        if not root.is_dir() or any(path for path in root.iterdir() if path != mark):
            if found := _read(mark).split():
                raise RestoreError(
                    f"A restore of another backup ({found[0]}) into {root} was interrupted. Repeat that one, or delete "
                    "the folder."
                )
            raise RestoreError(f"{root} is not empty. --data-dir names a folder that is empty, or not there yet.")

    def _write_mark(self) -> None:
        """With its lock held: if another restore has ended since the folder was found empty, it is no longer ours."""
        mark = self.folder.restore_mark
        try:
            self.refuse_used_folder()
        except RestoreError:
            if not _read(mark):
                mark.unlink()
            raise
        mark.write_text(self._text)
        sync_file_system(self.folder.root)

    @property
    def _text(self) -> str:
        return f"{self.summary.generation} {hashlib.sha256(f'{self.summary}{self.url}'.encode()).hexdigest()}\n"


def _read(mark: Path) -> str:
    try:
        return mark.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return ""
