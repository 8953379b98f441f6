"""Owns the folder that backups lie in: its generations by name, those that are not whole, and its lock."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from archivebox.backup.manifest import MANIFEST
from archivebox.lib.files import locked, remove_tree
from archivebox.lib.syncing import sync_file_system

_NAME = "%Y-%m-%dT%H-%M-%SZ"
_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ")
_INCOMPLETE, _REMOVED = ".incomplete", ".removed"
DATA = "data"
"""The copy of the data folder in a generation."""
DUMP = "database.dump"
"""That of a PostgreSQL database, beside it."""


class DestinationError(Exception):
    """A folder of backups that cannot be used, or a generation that is not there; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One whole backup."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def data(self) -> Path:
        return self.folder / DATA

    @property
    def made_at(self) -> datetime:
        return datetime.strptime(self.name, _NAME).replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Destination:
    """The folder in which each backup is a folder of its own, named after the time in UTC at which it began."""

    folder: Path

    @classmethod
    def at(cls, path: str) -> Self:
        """The one that a person names; links are followed, so that one into the collection is seen."""
        return cls(Path(path).expanduser().resolve())

    def generations(self) -> list[Generation]:
        """Those that are whole, the oldest first."""
        return [Generation(path) for path in self._named("")]

    def incomplete(self) -> list[Path]:
        """Those of backups that were interrupted, the oldest first."""
        return self._named(_INCOMPLETE)

    def find(self, name: str | None) -> Generation:
        """The generation of a name, or the newest. DestinationError where there is none."""
        found = self.generations()
        if name is None and found:
            return found[-1]
        for generation in found:
            if generation.name == name:
                return generation
        if name is None:
            raise DestinationError(f"There is no complete backup in {self.folder}.")
        raise DestinationError(
            f"There is no backup {name} in {self.folder}. `archivebox backup list {self.folder}` lists them."
        )

    def begin(self, now: datetime) -> Path:
        """Make the folder of a new generation, which is marked as incomplete until :meth:`complete`."""
        while any((self.folder / f"{now:{_NAME}}{end}").exists() for end in ("", _INCOMPLETE, _REMOVED)):
            now += timedelta(seconds=1)
        folder = self.folder / f"{now:{_NAME}}{_INCOMPLETE}"
        folder.mkdir(mode=0o700)
        return folder

    def complete(self, folder: Path) -> Generation:
        """Have a generation count as whole."""
        whole = folder.rename(folder.with_name(folder.name.removesuffix(_INCOMPLETE)))
        sync_file_system(self.folder)
        return Generation(whole)

    def remove(self, folder: Path) -> None:
        """Delete a generation, whole or not: killed meanwhile, it counts as none, and the next backup goes on."""
        remove_tree(folder.rename(folder.with_name(folder.name.removesuffix(_INCOMPLETE) + _REMOVED)))

    def clear(self) -> None:
        """Delete what is left of interrupted removals and backups, but for the longest of these: the next links it."""
        for folder in self._named(_REMOVED):
            remove_tree(folder)
        for folder in sorted(self.incomplete(), key=_length_of_manifest)[:-1]:
            self.remove(folder)

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


def _length_of_manifest(folder: Path) -> int:
    try:
        return (folder / MANIFEST).stat().st_size
    except FileNotFoundError:
        return 0
