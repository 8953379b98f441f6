"""Owns knowing when the last backup of this collection was made, and where it is."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from archivebox.lib.files import atomic_write
from archivebox.storage.layout import DataFolder


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The last one that was made whole."""

    made_at: datetime
    destination: Path

    @property
    def age(self) -> timedelta:
        return datetime.now(UTC) - self.made_at

    @property
    def sentence(self) -> str:
        return f"{self.made_at:%Y-%m-%d %H:%M}, in {self.destination}"


def note_backup(folder: DataFolder, destination: Path) -> None:
    """Write down that one was made now."""
    folder.run.mkdir(mode=0o700, exist_ok=True)
    atomic_write(folder.last_backup, f"{datetime.now(UTC).isoformat(timespec='seconds')}\n{destination}\n")


def last_backup(folder: DataFolder) -> LastBackup | None:
    """None where none was made, or nobody knows of it any more."""
    try:
        made_at, destination = folder.last_backup.read_text().splitlines()
        return LastBackup(datetime.fromisoformat(made_at), Path(destination))
    except (OSError, ValueError):
        return None
