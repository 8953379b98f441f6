"""The folder that backups lie in: which of them are whole, which are kept, and when the last one was made."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from archivebox.lib.files import atomic_write, locked, remove_tree
from archivebox.lib.system_calls import sync_file_system
from archivebox.storage.layout import DataFolder

DATA = "data"
"""The copy of the data folder in a backup."""
DUMP = "database.dump"
"""That of a PostgreSQL database, beside it."""
_NAME = "%Y-%m-%dT%H-%M-%SZ"
_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ")
INCOMPLETE = ".incomplete"
KEEP_RULES = {"last": _NAME, "daily": "%Y-%m-%d", "weekly": "%G-%V", "monthly": "%Y-%m", "yearly": "%Y"}
"""By what backups are counted: the newest of each of the last days, weeks, months and years (of UTC) is kept."""


class DestinationError(Exception):
    """A folder of backups that cannot be used, or a backup that is not there; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The folder in which each backup is a folder of its own, named after the time in UTC at which it began."""

    folder: Path

    @classmethod
    def at(cls, path: str) -> Self:
        """The one that a person names; links are followed, so that one into the collection is seen."""
        return cls(Path(path).expanduser().resolve())

    def backups(self) -> list[Path]:
        """Those that are whole, the oldest first."""
        return self._named("")

    def incomplete(self) -> list[Path]:
        """What interrupted backups and deletions have left, the oldest first."""
        return self._named(INCOMPLETE)

    def find(self, name: str | None) -> Path:
        """The backup of a name, or the newest. DestinationError where there is none."""
        for backup in reversed(self.backups()):
            if name in {None, backup.name}:
                return backup
        if name is None:
            raise DestinationError(f"There is no complete backup in {self.folder}.")
        hint = f"`archivebox backup list {self.folder}` lists them."
        raise DestinationError(f"There is no backup {name} in {self.folder}. {hint}")

    def begin(self, now: datetime) -> Path:
        """Make the folder of a new backup, which is marked as incomplete until :meth:`complete`."""
        while any((self.folder / f"{now:{_NAME}}{end}").exists() for end in ("", INCOMPLETE)):
            now += timedelta(seconds=1)
        folder = self.folder / f"{now:{_NAME}}{INCOMPLETE}"
        folder.mkdir(mode=0o700)
        return folder

    def complete(self, folder: Path) -> None:
        """Have a backup count as whole, and delete what interrupted ones have left."""
        folder.rename(folder.with_name(folder.name.removesuffix(INCOMPLETE)))
        sync_file_system(self.folder)
        for left in self.incomplete():
            remove_tree(left)

    def prune(self, counts: Mapping[str, int], *, dry_run: bool) -> list[Path]:
        """Delete what no rule keeps, and what was interrupted; returns the former. Files of other backups stay."""
        with self.locked():
            removed = superfluous(self.backups(), counts)
            if not dry_run:
                for backup in removed:  # killed meanwhile, it counts as none
                    backup.rename(backup.with_name(backup.name + INCOMPLETE))
                for left in self.incomplete():
                    remove_tree(left)
        return removed

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other backups and removals away; DestinationError where one is at work."""
        try:
            with locked(self.folder / ".lock", blocking=False) as lock:
                if lock is None:
                    raise DestinationError(f"Another backup into {self.folder} is running. Wait for its end.")
                yield
        except FileNotFoundError:
            raise DestinationError(f"{self.folder} is not there.") from None

    def _named(self, end: str) -> list[Path]:
        try:
            found = sorted(self.folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            raise DestinationError(f"{self.folder} is not a folder of backups.") from None
        return [path for path in found if path.name.endswith(end) and _FORM.fullmatch(path.name.removesuffix(end))]


def superfluous(backups: Iterable[Path], counts: Mapping[str, int]) -> list[Path]:
    """Those that no rule keeps, the oldest first. The newest is always kept."""
    newest_first = sorted(backups, reverse=True)
    kept = set(newest_first[:1])
    for rule, count in counts.items():
        newest_of: dict[str, Path] = {}
        for backup in newest_first:
            newest_of.setdefault(f"{datetime.strptime(backup.name, _NAME):{KEEP_RULES[rule]}}", backup)  # noqa: DTZ007
        kept.update(list(newest_of.values())[:count])
    return [one for one in reversed(newest_first) if one not in kept]


@dataclass(frozen=True, slots=True)
class LastBackup:
    """The last one of a collection that was made whole."""

    made_at: datetime
    destination: Path

    def __str__(self) -> str:
        return f"{self.made_at:%Y-%m-%d %H:%M}, in {self.destination}"


def note_backup(folder: DataFolder, destination: Destination) -> None:
    """Write down that one was made now."""
    folder.run.mkdir(mode=0o700, exist_ok=True)
    atomic_write(folder.last_backup, f"{datetime.now(UTC).isoformat(timespec='seconds')}\n{destination.folder}\n")


def last_backup(folder: DataFolder) -> LastBackup | None:
    """None where none was made, or nobody knows of it any more."""
    try:
        made_at, destination = folder.last_backup.read_text().splitlines()
        return LastBackup(datetime.fromisoformat(made_at), Path(destination))
    except (OSError, ValueError):
        return None
