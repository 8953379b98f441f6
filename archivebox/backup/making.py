"""Owns making a backup: the database first, then the files; what has not changed is linked, not copied."""

import errno
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from archivebox import __version__
from archivebox.backup.copying import PERMISSIONS, CopiedFile, UnreadableFileError, copy_hashed, digest_of
from archivebox.backup.generations import DATA, DUMP, Destination, DestinationError
from archivebox.backup.last import note_backup
from archivebox.backup.linked import LinkedFiles, link_file
from archivebox.backup.manifest import BackupEntry, BackupSummary, EntryKind, ManifestCursor, ManifestWriter
from archivebox.backup.reworked import PagesAtStart
from archivebox.backup.walking import Walked, walk_sorted
from archivebox.config.database import database_url
from archivebox.config.database_copy import DatabaseCopyError, copy_sqlite
from archivebox.storage.layout import DataFolder

LEFT_OUT = frozenset({"run", "logs", "machines", "exports", "backups"})
"""Folders that are made anew, or by programs that can be installed again."""
_SQLITE = (".sqlite3", ".sqlite3-wal", ".sqlite3-shm", ".sqlite3-journal", ".sqlite3.tmp")
"""Ends of names in the data folder itself: databases, which are copied in another way."""
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
"""What a disk without symbolic links answers; the manifest says where they lead, and restores them."""
_ASIDE = "linked"
"""Name in the generation of what is linked before it takes the place of a copy."""


@dataclass(frozen=True, slots=True)
class BackupOptions:
    """What a person may choose. ``reread``: read unchanged files of the last backup again before they are linked."""

    also: frozenset[str] = frozenset()
    reread: bool = False
    on_progress: Callable[[BackupSummary], None] = lambda _summary: None


def make_backup(folder: DataFolder, destination: Destination, options: BackupOptions) -> BackupSummary:
    """Make one generation; DestinationError, DatabaseCopyError, or OSError as when the disk is full.

    Whatever happens, earlier generations stay as they are. What an interrupted one has copied, the next one links.
    """
    _prepare(folder, destination)
    with destination.locked():
        destination.clear()
        former = [*reversed(destination.incomplete()), *(one.folder for one in destination.generations()[-1:])]
        incomplete = destination.begin(datetime.now(UTC))
        backup = _Backup(folder, incomplete, [ManifestCursor(path) for path in former], options)
        try:
            summary = backup.make()
        except DatabaseCopyError:
            destination.remove(incomplete)  # it comes first: there is nothing that the next backup could link
            raise
        destination.complete(incomplete)
        for path in destination.incomplete():
            destination.remove(path)
    with suppress(OSError):  # the backup is whole, even where the disk of the collection is full
        note_backup(folder, destination.folder)
    return summary


def _prepare(folder: DataFolder, destination: Destination) -> None:
    """Make the destination's folder in one that is there: a disk that is not mounted is none."""
    places = (folder.root, *(path.resolve() for path in _followed(folder)))
    if any(destination.folder.is_relative_to(place) for place in places):
        raise DestinationError(f"{destination.folder} is in the collection itself: choose a folder on another disk.")
    try:
        destination.folder.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        raise DestinationError(f"{destination.folder.parent} is not there. Is its disk mounted?") from None
    except FileExistsError:
        raise DestinationError(f"{destination.folder} is not a folder.") from None


def _followed(folder: DataFolder) -> tuple[Path, ...]:
    """What people have on another disk, and a symbolic link to it in the data folder."""
    return (
        folder.users, folder.personas, folder.plugins, folder.sources, folder.imports, folder.keys, folder.conf,
    )  # fmt: skip


class _Backup:
    """One generation while it is made."""

    def __init__(
        self, folder: DataFolder, generation: Path, former: list[ManifestCursor], options: BackupOptions
    ) -> None:
        self._folder, self._generation, self._former, self._options = folder, generation, former, options
        self._manifest = ManifestWriter(generation)
        self._pages = PagesAtStart()
        self._linked = LinkedFiles()
        url = database_url(folder)
        name = generation.name.partition(".")[0]
        kind = "postgresql" if url else "sqlite"
        self._summary = BackupSummary(generation=name, version=__version__, database=kind, began_at=_now())

    def make(self) -> BackupSummary:
        """The database first: a page that is sealed in its copy has all its files by then.

        One that is open in the copy is archived again where it stood, as after a power cut.
        """
        try:
            (self._generation / DATA).mkdir(mode=0o700)
            self._copy_databases()
            self._copy_files()
            self._summary.changed_meanwhile = self._pages.reworked()
            self._summary.ended_at = _now()
            self._manifest.finish(self._summary)
        finally:
            self._manifest.close()
            self._linked.close()
        return self._summary

    # --- databases --------------------------------------------------------------------------------------------

    def _copy_databases(self) -> None:
        url = database_url(self._folder)
        if url:
            from archivebox.config.postgres_copy import dump_postgres  # psycopg costs 60 ms

            dump_postgres(url, self._generation / DUMP)
            self._add_database(DUMP)
        for path in sorted(self._folder.root.glob("*.sqlite3")):
            if path != self._folder.database or not url:
                copy_sqlite(path, self._generation / DATA / path.name)
                self._add_database(f"{DATA}/{path.name}")

    def _add_database(self, path: str) -> None:
        copy = self._generation / path
        copy.chmod(0o600)
        size = copy.stat().st_size
        entry = BackupEntry(EntryKind.DATABASE, path, size=size, sha256=digest_of(str(copy)))
        is_linked = any(self._replace_by_link(entry, one, one.databases.get(path)) for one in self._former)
        self._count(entry, is_copied=not is_linked)

    # --- files ------------------------------------------------------------------------------------------------

    def _copy_files(self) -> None:
        root = self._folder.root
        followed = frozenset(path.name for path in _followed(self._folder))
        for walked in walk_sorted(root, self._is_left_out, self._summary.unread, followed):
            self._pages.note(walked)
            if stat.S_ISDIR(walked.status.st_mode):
                self._add_folder(walked)
            elif stat.S_ISLNK(walked.status.st_mode):
                self._add_link(walked)
            elif stat.S_ISREG(walked.status.st_mode):
                self._add_file(walked)

    def _is_left_out(self, name: str) -> bool:
        return name in LEFT_OUT - self._options.also or name.endswith(_SQLITE)

    def _add_folder(self, walked: Walked) -> None:
        path, mode = f"{DATA}/{walked.path}", walked.status.st_mode & PERMISSIONS | stat.S_IRWXU
        (self._generation / path).mkdir()
        (self._generation / path).chmod(mode)  # the umask does not count
        self._manifest.add(BackupEntry(EntryKind.FOLDER, path, mode=mode))

    def _add_link(self, walked: Walked) -> None:
        link = self._folder.root / walked.path
        try:
            target = str(link.readlink())
        except OSError:
            return  # it went away, or was replaced
        try:
            (self._generation / DATA / walked.path).symlink_to(target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        self._manifest.add(BackupEntry(EntryKind.LINK, f"{DATA}/{walked.path}", target=target))
        if self._leads_outside(link):
            self._summary.outside.append(walked.path)

    def _leads_outside(self, link: Path) -> bool:
        """Links to nothing are how browsers lock their profiles."""
        place = Path(os.path.realpath(link))
        return not place.is_relative_to(self._folder.root) and (place.is_dir() or place.is_file())

    def _add_file(self, walked: Walked) -> None:
        if not self._add_linked(walked) and (entry := self._add_or_link(walked)) is not None:
            self._linked.remember(entry.path, walked.status, entry.sha256)

    def _add_linked(self, walked: Walked) -> bool:
        """Whether it is a file that has been added under another name, and is now a link to that."""
        path = f"{DATA}/{walked.path}"
        first = self._linked.find(path, walked.status)
        if first is None or not link_file(self._generation / first.path, self._generation / path):
            return False
        status = walked.status
        entry = BackupEntry(
            EntryKind.FILE, path, mode=status.st_mode & PERMISSIONS, size=status.st_size, sha256=first.sha256,
            mtime_ns=status.st_mtime_ns, ctime_ns=status.st_ctime_ns, inode=status.st_ino,
        )  # fmt: skip
        self._count(entry, is_copied=False, is_link=True)
        return True

    def _add_or_link(self, walked: Walked) -> BackupEntry | None:
        """Add a file: a link to the one of an earlier backup, or a copy; None where it cannot be read."""
        path = f"{DATA}/{walked.path}"
        known = [(one, entry) for one in self._former if (entry := one.find(path)) is not None]
        for former, entry in known:
            if _is_unchanged(entry, walked.status) and self._link(entry, former):
                self._count(entry, is_copied=False)
                return entry
        try:
            source = self._folder.root / walked.path
            if source.parent == self._folder.root:
                source = source.resolve()
            copied = copy_hashed(str(source), f"{self._generation}/{path}")
        except UnreadableFileError as error:
            if not isinstance(error.__cause__, FileNotFoundError):  # it went away, or was replaced
                self._summary.unread.append(walked.path)
            return None
        entry = _entry_of(path, copied)
        is_linked = any(self._replace_by_link(entry, one, same) for one, same in known)
        self._count(entry, is_copied=not is_linked)
        return entry

    def _count(self, entry: BackupEntry, *, is_copied: bool, is_link: bool = False) -> None:
        """``is_link``: its bytes were counted under another name."""
        self._manifest.add(entry, copied=is_copied)
        self._summary.files += 1
        self._summary.bytes += entry.size * (not is_link)
        self._summary.copied_files += is_copied
        self._summary.copied_bytes += entry.size * is_copied
        self._options.on_progress(self._summary)

    # --- links to earlier generations -------------------------------------------------------------------------

    def _link(self, entry: BackupEntry, former: ManifestCursor, to: str = "") -> bool:
        """Have the file of an earlier generation in this one, too, if it still is as it was, and the disk has links."""
        path = f"{former.folder}/{entry.path}"
        try:
            status = os.lstat(path)
            is_same = (status.st_size, status.st_mode & PERMISSIONS) == (entry.size, entry.mode)
            if not is_same or (self._options.reread and digest_of(path) != entry.sha256):
                return False
            os.link(path, f"{self._generation}/{to or entry.path}", follow_symlinks=False)
        except (OSError, UnreadableFileError):
            return False
        return True

    def _replace_by_link(self, entry: BackupEntry, former: ManifestCursor, same: BackupEntry | None) -> bool:
        """What was copied and is as it was before need not lie there twice."""
        if same is None or (same.sha256, same.mode, same.mtime_ns) != (entry.sha256, entry.mode, entry.mtime_ns):
            return False
        is_linked = self._link(same, former, to=_ASIDE)
        if is_linked:
            (self._generation / _ASIDE).rename(self._generation / entry.path)
        return is_linked


def _is_unchanged(entry: BackupEntry, status: os.stat_result) -> bool:
    """By the time of the inode, too: whoever writes a file may set any other time of it."""
    return (
        entry.size == status.st_size
        and entry.mtime_ns == status.st_mtime_ns
        and entry.ctime_ns == status.st_ctime_ns
        and entry.inode == status.st_ino
    )


def _entry_of(path: str, copied: CopiedFile) -> BackupEntry:
    """One that was written to meanwhile gets no time, so that the next backup copies it again."""
    status = copied.status
    return BackupEntry(
        EntryKind.FILE,
        path,
        mode=status.st_mode & PERMISSIONS,
        size=copied.size,
        sha256=copied.sha256,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns if copied.was_steady else 0,
        inode=status.st_ino,
    )


def _now() -> str:
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds")
