"""The manifest of a backup: what is in it, a JSON line each, in the order in which folders are walked."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path

from archivebox.backup.copying import walk_order
from archivebox.lib.system_calls import sync_file_system

MANIFEST = "manifest.jsonl"
FORMAT = 1
"""Of the manifest and of what lies beside it; a version that knows only older ones refuses to restore it."""
_OUTSIDE = frozenset({"", ".", ".."})
"""Parts that no path in a backup has."""


class ManifestError(Exception):
    """A manifest that cannot be read, or is not as it was written; the message says which."""


class EntryKind(StrEnum):
    """What an entry is of."""

    DATABASE = "database"
    FOLDER = "folder"
    FILE = "file"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class BackupEntry:
    """One thing in a backup; ``path`` is relative to it.

    ``mtime_ns``, ``ctime_ns`` and ``inode`` are those of the original: as long as they stay, nobody has written to it.
    ``target`` is where a link leads.
    """

    kind: EntryKind
    path: str
    mode: int = 0o600
    size: int = 0
    sha256: str = ""
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    target: str = ""


_FIELDS = tuple(each.name for each in fields(BackupEntry))


@dataclass(slots=True)
class BackupSummary:
    """The last line of a manifest: what it all came to."""

    backup: str = ""
    version: str = ""
    database: str = ""
    began_at: str = ""
    ended_at: str = ""
    files: int = 0
    bytes: int = 0
    copied_files: int = 0
    copied_bytes: int = 0
    unread: list[str] = field(default_factory=list)
    """Files that could not be read, and are not in it."""
    damaged: list[str] = field(default_factory=list)
    """Files of finished pages that are gone, or are not what the page's list of hashes says."""
    changed_meanwhile: list[str] = field(default_factory=list)
    """Ids of sealed pages that were worked on while their files were copied."""
    outside: list[str] = field(default_factory=list)
    """Symbolic links to files or folders outside of the collection; what they lead to is not in it."""


class ManifestWriter:
    """Writes a manifest beside the files that it names."""

    def __init__(self, backup: Path) -> None:
        self._folder = backup
        self._file = (backup / MANIFEST).open("xb")
        self._digest = hashlib.sha256()

    def add(self, entry: BackupEntry) -> None:
        named = ((name, getattr(entry, name)) for name in _FIELDS)  # asdict() copies, and takes as long as all else
        line = _line({name: value for name, value in named if value not in ("", 0)})
        self._digest.update(line)
        self._file.write(line)

    def finish(self, summary: BackupSummary) -> None:
        """Write the last line, which bears the hash of all others, once all files are on the disk."""
        sync_file_system(self._folder)
        self._file.write(_line({"format": FORMAT, **asdict(summary), "manifest_sha256": self._digest.hexdigest()}))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def _line(record: dict[str, object]) -> bytes:
    """In ASCII: names of files may be no UTF-8, and are escaped."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def read_entries(backup: Path) -> Iterator[BackupEntry]:
    """What a manifest names, as far as it can be read: that of an interrupted backup ends anywhere.

    It ends before a path that leads out of the backup, too.
    """
    with suppress(FileNotFoundError), (backup / MANIFEST).open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
                entry = BackupEntry(**{**record, "kind": EntryKind(record["kind"])})
            except (ValueError, TypeError, KeyError):
                return
            if not _OUTSIDE.isdisjoint(entry.path.split("/")):
                return
            yield entry


def read_summary(backup: Path) -> BackupSummary:
    """The last line of a manifest, once all others are found to be as they were written. ManifestError."""
    path = backup / MANIFEST
    digest, last = hashlib.sha256(), b""
    try:
        with path.open("rb") as file:
            for line in file:
                digest.update(last)
                last = line
        end = json.loads(last)
        known, version = end.pop("manifest_sha256"), end.pop("format")
    except FileNotFoundError:
        raise ManifestError(f"{path} is not there.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ManifestError(f"{path} cannot be read: {error}.") from None
    if version > FORMAT:
        raise ManifestError(f"{backup} was made by a newer version of ArchiveBox: use that one, or a newer one.")
    if known != digest.hexdigest():
        raise ManifestError(f"{path} was changed after the backup was made.")
    return BackupSummary(**end)


class ManifestCursor:
    """Looks entries up in the order of the manifest, without keeping them all in memory."""

    def __init__(self, backup: Path) -> None:
        self.folder = backup
        self.databases: dict[str, BackupEntry] = {}
        self._entries = read_entries(backup)
        self._next = self._advance()

    def find(self, path: str) -> BackupEntry | None:
        """The entry of a path; each path that is asked for stands behind the one before."""
        key = walk_order(path)
        while self._next is not None and walk_order(self._next.path) < key:
            self._next = self._advance()
        return self._next if self._next is not None and self._next.path == path else None

    def _advance(self) -> BackupEntry | None:
        for entry in self._entries:
            if entry.kind is not EntryKind.DATABASE:
                return entry
            self.databases[entry.path] = entry
        return None
