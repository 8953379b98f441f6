"""Owns saying whether a generation is as it was when it was made."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from archivebox.backup.copying import UnreadableFileError, digest_of
from archivebox.backup.generations import DUMP, Generation
from archivebox.backup.linked import LinkedFile, LinkedFiles
from archivebox.backup.manifest import (
    MANIFEST,
    BackupEntry,
    BackupSummary,
    EntryKind,
    ManifestCursor,
    read_entries,
    read_summary,
)
from archivebox.backup.walking import walk_sorted

_READ = (EntryKind.FILE, EntryKind.DATABASE)


@dataclass(slots=True)
class BackupVerdict:
    """What a look at a generation found; paths are relative to it."""

    files: int = 0
    bytes: int = 0
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not (self.changed or self.missing or self.added)


def check_generation(
    generation: Generation, on_progress: Callable[[BackupVerdict, BackupSummary], None] = lambda *_: None
) -> BackupVerdict:
    """Read every file of a generation and compare it with the manifest. ManifestError."""
    summary = read_summary(generation.folder)
    verdict = BackupVerdict()
    with closing(LinkedFiles()) as linked:
        for entry in read_entries(generation.folder):
            _check(generation, entry, verdict, linked)
            on_progress(verdict, summary)
    verdict.added.extend(_not_in_manifest(generation))
    return verdict


def _check(generation: Generation, entry: BackupEntry, verdict: BackupVerdict, linked: LinkedFiles) -> None:
    path = f"{generation.folder}/{entry.path}"
    try:
        status = os.lstat(path)
        first = linked.find(entry.path, status)
        is_same = _is_same(path, entry, status, first)
    except FileNotFoundError:
        if entry.kind is not EntryKind.LINK:  # a disk may have no links: where one leads is in the manifest
            verdict.missing.append(entry.path)
        return
    except (OSError, UnreadableFileError):
        verdict.changed.append(entry.path)
        verdict.files += entry.kind in _READ
        return
    if not is_same:
        verdict.changed.append(entry.path)
    if entry.kind in _READ:
        verdict.files += 1
        verdict.bytes += entry.size * (first is None)
        linked.remember(entry.path, status, entry.sha256 if is_same else "")


def _is_same(path: str, entry: BackupEntry, status: os.stat_result, first: LinkedFile | None) -> bool:
    """``first``: the same file under a name that was looked at before."""
    if entry.kind is EntryKind.FOLDER:
        return stat.S_ISDIR(status.st_mode)
    if entry.kind is EntryKind.LINK:
        return stat.S_ISLNK(status.st_mode) and str(Path(path).readlink()) == entry.target
    return status.st_size == entry.size and (first.sha256 if first else digest_of(path)) == entry.sha256


def _not_in_manifest(generation: Generation) -> Iterator[str]:
    cursor = ManifestCursor(generation.folder)
    for walked in walk_sorted(generation.folder):
        if walked.path not in (MANIFEST, DUMP, generation.data.name, *cursor.databases) and not cursor.find(
            walked.path
        ):
            yield walked.path
