"""Owns making a collection of a backup: in a new folder, each file compared with its hash while it is copied."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from archivebox.backup.copying import UnreadableFileError, copy_hashed, digest_of
from archivebox.backup.generations import DATA, DUMP, Generation
from archivebox.backup.manifest import BackupEntry, BackupSummary, EntryKind, read_entries, read_summary
from archivebox.config.conffile import read_conf, write_conf
from archivebox.config.early import early_settings
from archivebox.lib.quantities import size
from archivebox.lib.syncing import sync_file_system
from archivebox.storage.layout import DataFolder

DATABASE_URL = "DATABASE_URL"


class RestoreError(Exception):
    """A backup that cannot be restored there; the message says what to do. Nothing that was there is touched."""


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
    """Restore a generation into an empty or absent folder. RestoreError, ManifestError, DatabaseCopyError, OSError.

    The database comes last: a folder in which it is missing is no collection.
    """
    summary = read_summary(generation.folder)
    _refuse(generation, folder, summary)
    url = _database_for(generation, folder, summary)
    folder.root.mkdir(mode=0o700, exist_ok=True)
    report, databases = RestoreReport(), []
    for entry in read_entries(generation.folder):
        if entry.kind is EntryKind.DATABASE:
            databases.append(entry)
        else:
            _restore_entry(generation, folder, entry, report)
            on_progress(report, summary)
    sync_file_system(folder.root)
    for entry in reversed(databases):  # the collection's own is the first
        _restore_database(generation, folder, entry, url)
        report.files, report.bytes = report.files + 1, report.bytes + entry.size
    if url:
        _keep_address(folder, url)
    folder.create()
    sync_file_system(folder.root)
    return report


def _refuse(generation: Generation, folder: DataFolder, summary: BackupSummary) -> None:
    root = folder.root
    if root.is_relative_to(generation.folder.parent):
        raise RestoreError(f"{root} is in the folder of the backups: choose another one.")
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise RestoreError(f"{root} is not empty. --data-dir names a folder that is empty, or not there yet.")
    if not root.parent.is_dir():
        raise RestoreError(f"{root.parent} is not there. Is its disk mounted?")
    free = shutil.disk_usage(root.parent if not root.exists() else root).free
    if free < summary.bytes:
        raise RestoreError(f"{root} has {size(free)} free, and the backup needs {size(summary.bytes)}.")


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
    from archivebox.config.postgres_copy import has_tables  # psycopg costs 60 ms

    if has_tables(url):
        raise RestoreError(f"The database that {DATABASE_URL} names is not empty. Set it to one that is.")
    return url


def _restore_entry(generation: Generation, folder: DataFolder, entry: BackupEntry, report: RestoreReport) -> None:
    target = f"{folder.root}/{entry.path.removeprefix(f'{DATA}/')}"
    if entry.kind is EntryKind.FOLDER:
        Path(target).mkdir(entry.mode)
    elif entry.kind is EntryKind.LINK:
        Path(target).symlink_to(entry.target)
    else:
        _restore_file(f"{generation.folder}/{entry.path}", target, entry, report)


def _restore_file(source: str, target: str, entry: BackupEntry, report: RestoreReport) -> None:
    try:
        copied = copy_hashed(source, target, mode=entry.mode, mtime_ns=entry.mtime_ns)
    except UnreadableFileError:
        report.missing.append(entry.path)
        return
    if copied.sha256 != entry.sha256:
        report.damaged.append(entry.path)
    report.files, report.bytes = report.files + 1, report.bytes + copied.size


def _restore_database(generation: Generation, folder: DataFolder, entry: BackupEntry, url: str) -> None:
    source = generation.folder / entry.path
    if entry.path == DUMP:
        from archivebox.config.postgres_copy import restore_postgres  # psycopg costs 60 ms

        _refuse_damaged(source, digest_of(str(source)), entry)
        restore_postgres(url, source)
        return
    target = folder.root / source.name
    aside = target.with_name(f"{target.name}.restored")
    copied = copy_hashed(str(source), str(aside), mode=0o600)
    if copied.sha256 != entry.sha256:
        aside.unlink()
    _refuse_damaged(source, copied.sha256, entry)
    aside.rename(target)


def _refuse_damaged(source: Path, sha256: str, entry: BackupEntry) -> None:
    if sha256 != entry.sha256:
        raise RestoreError(f"{source} was changed after the backup was made: restore another one.")


def _keep_address(folder: DataFolder, url: str) -> None:
    """Have ArchiveBox.conf lead to the restored database: that of the backup leads to the one it was made of."""
    if DATABASE_URL in read_conf(folder.conf):
        write_conf(folder.conf, {DATABASE_URL: url})
