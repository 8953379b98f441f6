"""Check a backup, and make a collection of it: in a new folder, each file compared with its hash while it is copied."""

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from archivebox.backup.copying import UnreadableFileError, copy_file, digest_of, walk
from archivebox.backup.destination import DATA, DUMP
from archivebox.backup.manifest import (
    MANIFEST,
    BackupEntry,
    BackupSummary,
    EntryKind,
    ManifestCursor,
    ManifestError,
    read_entries,
    read_summary,
)
from archivebox.config.conffile import read_conf, write_conf
from archivebox.config.early import early_settings
from archivebox.lib.files import locked
from archivebox.lib.quantities import size
from archivebox.lib.system_calls import sync_file_system
from archivebox.storage.layout import DataFolder
from archivebox.storage.shared_files import stored_twin

DATABASE_URL = "DATABASE_URL"


class RestoreError(Exception):
    """A backup that cannot be restored there; the message says what to do. Nothing that was there is touched."""


@dataclass(slots=True)
class BackupVerdict:
    """How many files were checked or restored, and which are not as they were backed up, as paths in the backup."""

    files: int = 0
    bytes: int = 0
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not (self.changed or self.missing or self.added)


Progress = Callable[[BackupVerdict, BackupSummary], None]


def verify(backup: Path, on_progress: Progress = lambda *_: None) -> BackupVerdict:
    """Read every file of a backup and compare it with the manifest. ManifestError."""
    summary, verdict, cursor = read_summary(backup), BackupVerdict(), ManifestCursor(backup)
    for entry in read_entries(backup):
        try:
            _check(backup, entry, verdict)
        except FileNotFoundError:
            if entry.kind is not EntryKind.LINK:  # a disk may have no links: where one leads is in the manifest
                verdict.missing.append(entry.path)
        except (OSError, UnreadableFileError):
            verdict.changed.append(entry.path)
        on_progress(verdict, summary)
    for path, _ in walk(backup, verdict.changed):
        if path not in {MANIFEST, DATA, *cursor.databases} and cursor.find(path) is None:
            verdict.added.append(path)
    return verdict


def _check(backup: Path, entry: BackupEntry, verdict: BackupVerdict) -> None:
    path = backup / entry.path
    status = path.lstat()
    if entry.kind is EntryKind.FOLDER:
        is_same = stat.S_ISDIR(status.st_mode)
    elif entry.kind is EntryKind.LINK:
        is_same = stat.S_ISLNK(status.st_mode) and str(path.readlink()) == entry.target
    else:
        twin = _twin_of(backup, entry, status)
        verdict.files += 1
        verdict.bytes += entry.size * (not twin)
        is_same = status.st_size == entry.size
        is_same = is_same and (twin not in verdict.changed if twin else digest_of(str(path)) == entry.sha256)
    if not is_same:
        verdict.changed.append(entry.path)


def _twin_of(backup: Path, entry: BackupEntry, status: os.stat_result) -> str:
    """The stored body that a page's file is another name of, which comes before it in a manifest; empty: none."""
    twin = stored_twin(entry.path)
    is_same = twin and os.path.lexists(backup / twin) and os.path.samestat(status, (backup / twin).lstat())
    return twin if is_same else ""


def restore(backup: Path, folder: DataFolder, on_progress: Progress = lambda *_: None) -> BackupVerdict:
    """Restore a backup into an empty or absent folder, or continue an interrupted restore of it there.

    RestoreError, ManifestError, DatabaseCopyError, OSError. No command opens the folder before all of it is there.
    """
    summary = read_summary(backup)
    url = _database_for(backup, folder, summary)
    mark = f"{backup.name} {hashlib.sha256(f'{summary}{url}'.encode()).hexdigest()}\n"
    if folder.root.is_relative_to(backup.parent):
        raise RestoreError(f"{folder.root} is in the folder of the backups: choose another one.")
    if not folder.root.parent.is_dir():
        raise RestoreError(f"{folder.root.parent} is not there. Is its disk mounted?")
    is_continued = _read(folder.restore_mark) == mark
    if not is_continued:
        _refuse_used(folder)
        if url and _has_tables(url):
            raise RestoreError(f"The database that {DATABASE_URL} names is not empty. Set it to one that is.")
        free = shutil.disk_usage(folder.root if folder.root.exists() else folder.root.parent).free
        if free < summary.bytes:
            raise RestoreError(f"{folder.root} has {size(free)} free, and the backup needs {size(summary.bytes)}.")
    databases = list(takewhile(lambda entry: entry.kind is EntryKind.DATABASE, read_entries(backup)))
    _refuse_damaged(backup, databases)
    verdict = BackupVerdict()
    with _claimed(folder, mark):
        links: list[BackupEntry] = []
        for entry in read_entries(backup):
            target = folder.root / entry.path.removeprefix(f"{DATA}/")
            if entry.kind is EntryKind.FOLDER:
                target.mkdir(exist_ok=is_continued)
                target.chmod(entry.mode)  # the umask does not count
            elif entry.kind is EntryKind.LINK:
                links.append(entry)
            elif entry.kind is EntryKind.FILE:
                _restore_file(backup, folder, entry, verdict)
                on_progress(verdict, summary)
        if verdict.files + len(verdict.missing) + len(databases) != summary.files:
            raise ManifestError(f"{backup / MANIFEST} has entries that this version does not know.")
        for entry in links:  # so late that no file is written through one
            target = folder.root / entry.path.removeprefix(f"{DATA}/")
            target.unlink(missing_ok=True)
            target.symlink_to(entry.target)
        for entry in reversed(databases):  # the collection's own comes last
            _restore_database(backup / entry.path, folder, url, is_continued=is_continued)
            verdict.files += 1
            verdict.bytes += entry.size
        if url and DATABASE_URL in read_conf(folder.conf):
            write_conf(folder.conf, {DATABASE_URL: url})  # that of the backup is the one that it was made of
        folder.create()
    return verdict


def _database_for(backup: Path, folder: DataFolder, summary: BackupSummary) -> str:
    """The address of the empty database that it goes to; nothing for SQLite. RestoreError where it fits none."""
    in_backup = read_conf(backup / DATA / folder.conf.name).get(DATABASE_URL, "")
    url = early_settings(DataFolder(backup / DATA)).get_text(DATABASE_URL)
    if summary.database == "sqlite":
        if url and url != in_backup:
            raise RestoreError(f"This backup has a SQLite database: unset {DATABASE_URL}, and restore it then.")
        return ""
    if not url:
        raise RestoreError(f"This backup has a PostgreSQL database: set {DATABASE_URL} to an empty one.")
    return url


def _has_tables(url: str) -> bool:
    from archivebox.config.postgres_copy import has_tables  # psycopg costs 60 ms

    return has_tables(url)


def _refuse_damaged(backup: Path, databases: list[BackupEntry]) -> None:
    """RestoreError before anything is copied: a collection without its database is none."""
    for entry in databases:
        try:
            is_same = digest_of(f"{backup}/{entry.path}") == entry.sha256
        except UnreadableFileError as error:
            raise RestoreError(f"The database of the backup cannot be read ({error}): restore another one.") from None
        if not is_same:
            raise RestoreError(f"{backup / entry.path} was changed after the backup was made: restore another one.")


def _refuse_used(folder: DataFolder) -> None:
    """RestoreError where the folder contains anything but the mark of a restore that begins."""
    root = folder.root
    if root.exists() and not (root.is_dir() and all(path == folder.restore_mark for path in root.iterdir())):
        if known := _read(folder.restore_mark):
            was = f"A restore of another backup ({known.split()[0]}) into {root} was interrupted."
            raise RestoreError(f"{was} Repeat that one, or delete the folder.")
        raise RestoreError(f"{root} is not empty. --data-dir names a folder that is empty, or not there yet.")


def _read(mark: Path) -> str:
    try:
        return mark.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return ""


@contextmanager
def _claimed(folder: DataFolder, mark: str) -> Iterator[None]:
    """Mark the folder, so that nobody opens it as a collection, until the block ends without an exception.

    RestoreError where another restore into it is at work, or has ended since the folder was found empty.
    """
    folder.root.mkdir(mode=0o700, exist_ok=True)
    with locked(folder.restore_mark, blocking=False) as lock:
        if lock is None:
            raise RestoreError(f"Another `archivebox restore` into {folder.root} is running.")
        if (found := _read(folder.restore_mark)) != mark:
            try:
                _refuse_used(folder)
            except RestoreError:
                if not found:
                    folder.restore_mark.unlink(missing_ok=True)
                raise
        folder.restore_mark.write_text(mark)
        sync_file_system(folder.root)
        yield
        sync_file_system(folder.root)
        folder.restore_mark.unlink()
        sync_file_system(folder.root)


def _restore_file(backup: Path, folder: DataFolder, entry: BackupEntry, verdict: BackupVerdict) -> None:
    source, target = f"{backup}/{entry.path}", folder.root / entry.path.removeprefix(f"{DATA}/")
    is_same, is_link = True, False
    try:
        if not _is_restored(target, entry):
            if twin := _twin_of(backup, entry, os.lstat(source)):
                with suppress(OSError):  # a disk that has no hard links
                    os.link(folder.root / twin.removeprefix(f"{DATA}/"), target)
                    is_same, is_link = twin not in verdict.changed, True
            if not is_link:
                is_same = copy_file(source, str(target))[1] == entry.sha256
                target.chmod(entry.mode)
                os.utime(target, ns=(entry.mtime_ns, entry.mtime_ns))
    except (FileNotFoundError, UnreadableFileError):
        verdict.missing.append(entry.path)
        return
    verdict.files += 1
    verdict.bytes += entry.size * (not is_link)
    if not is_same:
        verdict.changed.append(entry.path)


def _is_restored(target: Path, entry: BackupEntry) -> bool:
    """Whether an interrupted restore has put the file there, whose time it set last; if not, its part is deleted."""
    with suppress(FileNotFoundError):
        if target.lstat().st_mtime_ns == entry.mtime_ns and digest_of(str(target)) == entry.sha256:
            return True
        target.unlink()
    return False


def _restore_database(source: Path, folder: DataFolder, url: str, *, is_continued: bool) -> None:
    """A dump comes all at once: what is there when a restore is continued is what it had put there."""
    if source.name == DUMP:
        from archivebox.config.postgres_copy import restore_postgres  # psycopg costs 60 ms

        if not (is_continued and _has_tables(url)):
            restore_postgres(url, source)
        return
    aside = folder.root / f"{source.name}.restored"
    aside.unlink(missing_ok=True)
    copy_file(str(source), str(aside))
    aside.chmod(0o600)
    aside.rename(folder.root / source.name)
