"""Owns making a collection of a backup: in a new folder, each file compared with its hash while it is copied."""

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from archivebox.backup.copying import UnreadableFileError, copy_hashed, digest_of
from archivebox.backup.generations import DATA, DUMP, Generation
from archivebox.backup.linked import LinkedFiles, link_file
from archivebox.backup.manifest import (
    MANIFEST,
    BackupEntry,
    BackupSummary,
    EntryKind,
    ManifestError,
    read_entries,
    read_summary,
)
from archivebox.backup.restore_claim import RestoreClaim, RestoreError
from archivebox.config.conffile import read_conf, write_conf
from archivebox.config.early import early_settings
from archivebox.lib.quantities import size
from archivebox.storage.layout import DataFolder

DATABASE_URL = "DATABASE_URL"


@dataclass(slots=True)
class RestoreReport:
    """What was restored; ``damaged`` and ``missing`` files are not as they were backed up."""

    files: int = 0
    bytes: int = 0
    damaged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not (self.damaged or self.missing)


def restore(
    generation: Generation,
    folder: DataFolder,
    on_progress: Callable[[RestoreReport, BackupSummary], None] = lambda *_: None,
) -> RestoreReport:
    """Restore a generation into an empty or absent folder, or continue an interrupted restore of it there.

    RestoreError, ManifestError, DatabaseCopyError, OSError. No command opens the folder before all of it is there.
    """
    summary = read_summary(generation.folder)
    claim = RestoreClaim(folder, summary, _database_for(generation, folder, summary))
    _refuse_place(generation, folder)
    claim.refuse_used_folder()
    is_continued = claim.is_continued
    if not is_continued:
        _refuse_used_database(claim.url)
        _refuse_lack_of_room(folder, summary)
    restored = _Restore(generation, claim, is_continued, on_progress)
    restored.refuse_damaged_databases()
    with claim.held():
        restored.copy_all()
    return restored.report


class _Restore:
    """One generation while it is restored."""

    def __init__(
        self,
        generation: Generation,
        claim: RestoreClaim,
        is_continued: bool,
        on_progress: Callable[[RestoreReport, BackupSummary], None],
    ) -> None:
        self.report = RestoreReport()
        self._generation, self._folder, self._url, self._summary = generation, claim.folder, claim.url, claim.summary
        self._is_continued, self._on_progress = is_continued, on_progress
        self._linked = LinkedFiles()
        of_database = EntryKind.DATABASE
        self._databases = list(takewhile(lambda entry: entry.kind is of_database, read_entries(generation.folder)))

    def refuse_damaged_databases(self) -> None:
        """RestoreError before anything is copied: a collection without its database is none."""
        for entry in self._databases:
            source = self._generation.folder / entry.path
            try:
                is_same = digest_of(str(source)) == entry.sha256
            except UnreadableFileError as error:
                raise RestoreError(
                    f"The database of the backup cannot be read ({error}): restore another one."
                ) from None
            if not is_same:
                raise RestoreError(f"{source} was changed after the backup was made: restore another one.")

    def copy_all(self) -> None:
        """The collection's own database comes last."""
        with closing(self._linked):
            self._copy_files()
        if self.report.files + len(self.report.missing) + len(self._databases) != self._summary.files:
            raise ManifestError(f"{self._generation.folder / MANIFEST} has entries that this version does not know.")
        for entry in reversed(self._databases):
            self._copy_database(entry)
            self._count(entry)
        if self._url:
            _keep_address(self._folder, self._url)
        self._folder.create()

    def _copy_files(self) -> None:
        """Links come last, so that no file is written through one."""
        links: list[BackupEntry] = []
        for entry in read_entries(self._generation.folder):
            if entry.kind is EntryKind.FOLDER:
                self._make_folder(entry)
            elif entry.kind is EntryKind.LINK:
                links.append(entry)
            elif entry.kind is EntryKind.FILE:
                self._copy_file(entry)
        for entry in links:
            target = self._target(entry)
            target.unlink(missing_ok=True)
            target.symlink_to(entry.target)

    def _make_folder(self, entry: BackupEntry) -> None:
        target = self._target(entry)
        target.mkdir(exist_ok=self._is_continued)
        target.chmod(entry.mode)  # the umask does not count

    def _copy_file(self, entry: BackupEntry) -> None:
        source, target = f"{self._generation.folder}/{entry.path}", self._target(entry)
        if self._is_continued and _is_restored(target, entry):
            sha256, is_link = entry.sha256, False
        else:
            try:
                sha256, is_link = self._link_or_copy(entry, source, target)
            except UnreadableFileError:
                self.report.missing.append(entry.path)
                return
        if sha256 != entry.sha256:
            self.report.damaged.append(entry.path)
        if not is_link:
            self._linked.remember(entry.path, os.lstat(source), sha256)
        self._count(entry, is_link=is_link)

    def _link_or_copy(self, entry: BackupEntry, source: str, target: Path) -> tuple[str, bool]:
        """SHA-256 of what is there now, and whether it is a link to what was there under another name."""
        first = self._linked.find(entry.path, os.lstat(source)) if os.path.lexists(source) else None
        if first is not None and link_file(self._folder.root / first.path.removeprefix(f"{DATA}/"), target):
            return first.sha256, True
        return copy_hashed(source, str(target), mode=entry.mode, mtime_ns=entry.mtime_ns).sha256, False

    def _copy_database(self, entry: BackupEntry) -> None:
        source = self._generation.folder / entry.path
        if entry.path == DUMP:
            self._restore_dump(source)
            return
        target = self._folder.root / source.name
        aside = target.with_name(f"{target.name}.restored")
        aside.unlink(missing_ok=True)
        copy_hashed(str(source), str(aside), mode=0o600)
        aside.rename(target)

    def _restore_dump(self, dump: Path) -> None:
        """All of it comes at once: what is there when a restore is continued is what it had put there."""
        from archivebox.config.postgres_copy import has_tables, restore_postgres  # psycopg costs 60 ms

        if not (self._is_continued and has_tables(self._url)):
            restore_postgres(self._url, dump)

    def _target(self, entry: BackupEntry) -> Path:
        return self._folder.root / entry.path.removeprefix(f"{DATA}/")

    def _count(self, entry: BackupEntry, *, is_link: bool = False) -> None:
        self.report.files += 1
        self.report.bytes += entry.size * (not is_link)
        self._on_progress(self.report, self._summary)


def _is_restored(target: Path, entry: BackupEntry) -> bool:
    """Whether an interrupted restore has put the file there, whose time it set last; if not, its part is deleted."""
    try:
        if target.lstat().st_mtime_ns == entry.mtime_ns and digest_of(str(target)) == entry.sha256:
            return True
        target.unlink()
    except FileNotFoundError:
        pass
    return False


def _refuse_place(generation: Generation, folder: DataFolder) -> None:
    if folder.root.is_relative_to(generation.folder.parent):
        raise RestoreError(f"{folder.root} is in the folder of the backups: choose another one.")
    if not folder.root.parent.is_dir():
        raise RestoreError(f"{folder.root.parent} is not there. Is its disk mounted?")


def _refuse_lack_of_room(folder: DataFolder, summary: BackupSummary) -> None:
    root = folder.root
    free = shutil.disk_usage(root if root.exists() else root.parent).free
    if free < summary.bytes:
        raise RestoreError(f"{root} has {size(free)} free, and the backup needs {size(summary.bytes)}.")


def _refuse_used_database(url: str) -> None:
    if url:
        from archivebox.config.postgres_copy import has_tables  # psycopg costs 60 ms

        if has_tables(url):
            raise RestoreError(f"The database that {DATABASE_URL} names is not empty. Set it to one that is.")


def _database_for(generation: Generation, folder: DataFolder, summary: BackupSummary) -> str:
    """The address of the empty database that it goes to; nothing for SQLite. RestoreError where it fits none."""
    in_backup = read_conf(generation.data / folder.conf.name).get(DATABASE_URL, "")
    url = early_settings(DataFolder(generation.data)).get_text(DATABASE_URL)
    if summary.database == "sqlite":
        if url and url != in_backup:
            raise RestoreError(f"This backup has a SQLite database: unset {DATABASE_URL}, and restore it then.")
        return ""
    if not url:
        raise RestoreError(f"This backup has a PostgreSQL database: set {DATABASE_URL} to an empty one.")
    return url


def _keep_address(folder: DataFolder, url: str) -> None:
    """Have ArchiveBox.conf lead to the restored database: that of the backup leads to the one it was made of."""
    if DATABASE_URL in read_conf(folder.conf):
        write_conf(folder.conf, {DATABASE_URL: url})
