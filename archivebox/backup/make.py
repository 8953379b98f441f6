"""Make a backup: the database first, then the files.

A file that the last backup has is linked from there. One of a finished page is linked from the collection if both are
on one disk: no hook runs again in such a page before its files have been replaced by copies
(:mod:`archivebox.storage.shared_files`). Everything else is copied.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from archivebox import __version__
from archivebox.backup.copying import PERMISSIONS, UnreadableFileError, copy_file, digest_of, walk
from archivebox.backup.destination import DATA, DUMP, INCOMPLETE, Destination, DestinationError, note_backup
from archivebox.backup.manifest import BackupEntry, BackupSummary, EntryKind, ManifestCursor, ManifestWriter
from archivebox.base_models.rows import time_of
from archivebox.config.database import database_url
from archivebox.config.database_copy import DatabaseCopyError, copy_sqlite
from archivebox.core.evidence.signature import MANIFEST_SIZE
from archivebox.core.evidence.signer import MANIFEST
from archivebox.core.evidence.verification import PAGES_AT_ONCE, files_of, verdict_on, with_listed_files
from archivebox.core.models import Snapshot, StoredObject
from archivebox.core.snapshot import SnapshotQuerySet
from archivebox.lib.files import read_regular, remove_tree
from archivebox.storage.layout import HOOK_RUNS, USERS, DataFolder
from archivebox.storage.shared_files import may_be_linked, stored_twin

LEFT_OUT = frozenset({"run", "logs", "machines", "exports", "backups"})
"""Folders that are made anew, or by programs that can be installed again."""
_SQLITE = (".sqlite3", ".sqlite3-wal", ".sqlite3-shm", ".sqlite3-journal", ".sqlite3.tmp")
"""Ends of names in the data folder itself: databases, which are copied in another way."""
_ASIDE = "linked"
"""Name in the backup of what is linked before it takes the place of a copy."""
_ID = 5
"""Where the id of a page is in ``users/<name>/snapshots/<day>/<site>/<id>/…``."""
_COARSE = 50_000_000
"""Nanoseconds by which the clock of files may be behind."""


def make_backup(
    folder: DataFolder,
    destination: Destination,
    *,
    also: Collection[str] = (),
    reread: bool = False,
    on_progress: Callable[[BackupSummary], None] = lambda _summary: None,
) -> BackupSummary:
    """Make one backup; DestinationError, DatabaseCopyError, or OSError as when the disk is full.

    Whatever happens, earlier backups stay as they are. What an interrupted one has copied, the next one links.
    ``also``: names of LEFT_OUT; ``reread``: hash what is there already before it is linked.
    """
    _make_destination_folder(folder, destination)
    with destination.locked():
        former = [*destination.backups()[-1:], *destination.incomplete()]
        incomplete = destination.begin(datetime.now(UTC))
        backup = _Backup(folder, incomplete, [ManifestCursor(path) for path in former], reread, on_progress)
        try:
            summary = backup.make(LEFT_OUT - set(also))
        except DatabaseCopyError:
            remove_tree(incomplete)  # it comes first: there is nothing that the next backup could link
            raise
        destination.complete(incomplete)
    with suppress(OSError):  # the backup is whole, even where the disk of the collection is full
        note_backup(folder, destination)
    return summary


def _make_destination_folder(folder: DataFolder, destination: Destination) -> None:
    """In a folder that is there: a disk that is not mounted is none."""
    places = (folder.root, *((folder.root / name).resolve() for name in _followed(folder)))
    if any(destination.folder.is_relative_to(place) for place in places):
        raise DestinationError(f"{destination.folder} is in the collection itself: choose a folder on another disk.")
    try:
        destination.folder.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        raise DestinationError(f"{destination.folder.parent} is not there. Is its disk mounted?") from None
    except FileExistsError:
        raise DestinationError(f"{destination.folder} is not a folder.") from None


def _followed(folder: DataFolder) -> frozenset[str]:
    """What people have on another disk, and a symbolic link to it in the data folder."""
    places = (folder.users, folder.personas, folder.plugins, folder.sources, folder.imports, folder.keys, folder.conf)
    return frozenset(place.name for place in places)


class _Pages:
    """Which pages were finished when the backup began: these have all their files, and a list of their hashes."""

    def __init__(self) -> None:
        self.began_at, self.began_ns = datetime.now(UTC), time.time_ns() - _COARSE
        is_sealed = Snapshot.StatusChoices.SEALED
        self._open = set(Snapshot.objects.exclude(status=is_sealed).values_list("pk", flat=True))

    def was_sealed(self, key: UUID) -> bool:
        return key not in self._open and time_of(key) < self.began_at

    def reworked(self) -> list[str]:
        """Ids of those whose hooks have run since: their rows may be older than their files."""
        is_touched = ~Q(status=Snapshot.StatusChoices.SEALED) | Q(sealed_at__gte=self.began_at)
        keys = Snapshot.objects.filter(is_touched).values_list("pk", flat=True)
        return sorted(str(key) for key in keys.iterator() if self.was_sealed(key))

    def finished(self) -> SnapshotQuerySet:
        """Those that have not been changed since, and whose files are here."""
        stored = StoredObject.objects.current().filter(snapshot=OuterRef("pk"))
        sealed = Snapshot.objects.filter(status=Snapshot.StatusChoices.SEALED, modified_at__lt=self.began_at)
        return with_listed_files(sealed.filter(~Exists(stored)))


class _Backup:
    """One backup while it is made."""

    def __init__(
        self,
        folder: DataFolder,
        target: Path,
        former: list[ManifestCursor],
        reread: bool,
        on_progress: Callable[[BackupSummary], None],
    ) -> None:
        self._folder, self._target, self._former = folder, target, former
        self._reread, self._on_progress = reread, on_progress
        self._manifest, self._pages = ManifestWriter(target), _Pages()
        self._page, self._is_sealed, self._listed = "", False, dict[str, tuple[object, str]]()
        self._hashed_at = 0
        kind = "postgresql" if database_url(folder) else "sqlite"
        self._summary = BackupSummary(target.name.partition(".")[0], __version__, kind, _now())

    def make(self, left_out: Collection[str]) -> BackupSummary:
        """The database first: a page that is sealed in its copy has all its files by then.

        One that is open in the copy is archived again where it stood, as after a power cut.
        """
        try:
            (self._target / DATA).mkdir(mode=0o700)
            self._copy_databases()
            self._copy_files(left_out)
            self._summary.changed_meanwhile = self._pages.reworked()
            self._summary.damaged = self._damaged()
            self._summary.ended_at = _now()
            self._manifest.finish(self._summary)
        finally:
            self._manifest.close()
        return self._summary

    def _copy_databases(self) -> None:
        url = database_url(self._folder)
        if url:
            from archivebox.config.postgres_copy import dump_postgres  # psycopg costs 60 ms

            dump_postgres(url, self._target / DUMP)
            self._add_database(DUMP)
        for path in sorted(self._folder.root.glob("*.sqlite3")):
            if path != self._folder.database or not url:
                copy_sqlite(path, self._target / DATA / path.name)
                self._add_database(f"{DATA}/{path.name}")

    def _add_database(self, path: str) -> None:
        copy = self._target / path
        copy.chmod(0o600)
        entry = BackupEntry(EntryKind.DATABASE, path, size=copy.stat().st_size, sha256=digest_of(str(copy)))
        same = [one for one in self._former if (known := one.databases.get(path)) and known.sha256 == entry.sha256]
        is_linked = any(self._link(f"{one.folder}/{path}", _ASIDE, entry, is_read=True) for one in same)
        if is_linked:
            (self._target / _ASIDE).replace(copy)
        self._add(entry, is_copied=not is_linked)

    # --- files ------------------------------------------------------------------------------------------------

    def _copy_files(self, left_out: Collection[str]) -> None:
        root = self._folder.root
        left_out = {*left_out, *(path.name for path in root.iterdir() if path.name.endswith(_SQLITE))}
        for path, status in walk(root, self._summary.unread, left_out, _followed(self._folder)):
            self._enter_page_of(path)
            if stat.S_ISDIR(status.st_mode):
                self._add_folder(path, status)
            elif stat.S_ISLNK(status.st_mode):
                self._add_link(path)
            elif stat.S_ISREG(status.st_mode):
                self._add_file(path, status)
        self._enter_page_of("")

    def _enter_page_of(self, path: str) -> None:
        """Read the list of hashes of the page that the path is in, if it was finished; the one before is over."""
        parts = path.split("/", _ID + 1)
        is_in_page = len(parts) > _ID + 1 and parts[0] == USERS and parts[2] == "snapshots"
        page = "/".join(parts[: _ID + 1]) if is_in_page else ""
        if page == self._page:
            return
        self._page, self._is_sealed = page, False
        with suppress(ValueError):
            self._is_sealed = bool(page) and self._pages.was_sealed(UUID(parts[_ID]))
        self._listed = self._listed_in(page) if self._is_sealed else {}

    def _listed_in(self, page: str) -> dict[str, tuple[object, str]]:
        """Path in the page → size and SHA-256 as the page's list of hashes has them."""
        path = self._folder.root / page / MANIFEST
        try:
            files, self._hashed_at = files_of(json.loads(read_regular(path, MANIFEST_SIZE))), path.stat().st_mtime_ns
        except (OSError, ValueError):
            return {}
        return {name: (entry.get("size"), str(entry.get("sha256", ""))) for name, entry in files.items()}

    def _add_folder(self, path: str, status: os.stat_result) -> None:
        target, mode = self._target / DATA / path, status.st_mode & PERMISSIONS | stat.S_IRWXU
        target.mkdir()
        target.chmod(mode)  # the umask does not count
        self._manifest.add(BackupEntry(EntryKind.FOLDER, f"{DATA}/{path}", mode=mode))

    def _add_link(self, path: str) -> None:
        link = self._folder.root / path
        try:
            target = str(link.readlink())
        except OSError:
            return  # it went away, or was replaced
        with suppress(OSError):  # on a disk without symbolic links the manifest says where it leads
            (self._target / DATA / path).symlink_to(target)
        self._manifest.add(BackupEntry(EntryKind.LINK, f"{DATA}/{path}", target=target))
        place = Path(os.path.realpath(link))
        if not place.is_relative_to(self._folder.root) and (place.is_dir() or place.is_file()):
            self._summary.outside.append(path)  # links to nothing are how browsers lock their profiles

    def _add_file(self, path: str, status: os.stat_result) -> None:
        source = str(self._folder.root / path)
        if "/" not in path:
            source = os.path.realpath(source)
        name = path.removeprefix(f"{self._page}/")
        size, sha256 = self._listed.get(name, (status.st_size, ""))
        if size != status.st_size or status.st_mtime_ns > self._hashed_at:
            sha256 = ""
        entry = BackupEntry(
            EntryKind.FILE, f"{DATA}/{path}", status.st_mode & PERMISSIONS, status.st_size, sha256,
            status.st_mtime_ns, status.st_ctime_ns, status.st_ino,
        )  # fmt: skip
        try:
            if not self._add_linked(entry, source, status):
                copied = copy_file(source, f"{self._target}/{entry.path}", is_hashed=self._reread or not sha256)
                if sha256 and copied[1] not in {"", sha256}:
                    self._summary.damaged.append(path)
                self._add(replace(entry, size=copied[0], sha256=copied[1] or sha256), is_copied=True)
        except UnreadableFileError as error:
            if not isinstance(error.__cause__, FileNotFoundError):  # it went away, or was replaced
                self._summary.unread.append(path)

    def _add_linked(self, entry: BackupEntry, source: str, status: os.stat_result) -> bool:
        """Add a file without a copy: as another name of a body that pages share, of an earlier backup's file, or of
        the collection's own file, in that order; False where none of them can be linked.
        """
        twin = stored_twin(entry.path)
        with suppress(FileNotFoundError):
            if twin and os.path.samestat(status, os.lstat(self._folder.root / twin.removeprefix(f"{DATA}/"))):
                entry = replace(entry, sha256=entry.sha256 or digest_of(source))
                if self._link(f"{self._target}/{twin}", entry.path, entry):
                    self._add(entry, is_counted=False)
                    return True
        is_own = self._is_sealed and not may_be_linked(entry.path) and status.st_ctime_ns < self._pages.began_ns
        is_own = is_own and not entry.path.startswith(f"{DATA}/{self._page}/{HOOK_RUNS}/")
        known = [(one, same) for one in self._former if (same := one.find(entry.path)) and _is_like(same, entry)]
        steady = (same.sha256 for _, same in known if (same.ctime_ns, same.inode) == (entry.ctime_ns, entry.inode))
        if not entry.sha256 and (known or is_own):
            entry = replace(entry, sha256=next(steady, "") or digest_of(source))
        for former, same in known:
            is_read = self._reread or former.folder.name.endswith(INCOMPLETE)
            if same.sha256 == entry.sha256 and self._link(f"{former.folder}/{entry.path}", entry.path, entry, is_read):
                self._add(entry)
                return True
        if is_own and self._link(source, entry.path, entry, is_read=self._reread):
            linked = os.lstat(f"{self._target}/{entry.path}")
            self._add(replace(entry, ctime_ns=linked.st_ctime_ns, inode=linked.st_ino))
            return True
        return False

    def _link(self, source: str, path: str, entry: BackupEntry, is_read: bool = False) -> bool:
        """Give a file another name in this backup, if it still is as the entry says, and the disk has hard links."""
        target = self._target / path
        try:
            if is_read and digest_of(source) != entry.sha256:
                return False
            os.link(source, target, follow_symlinks=False)
        except (OSError, UnreadableFileError):
            return False
        if os.lstat(target).st_size == entry.size:
            return True
        target.unlink()
        return False

    def _add(self, entry: BackupEntry, *, is_copied: bool = False, is_counted: bool = True) -> None:
        """``is_counted``: its bytes were not under another name."""
        self._manifest.add(entry)
        self._summary.files += 1
        self._summary.bytes += entry.size * is_counted
        self._summary.copied_files += is_copied
        self._summary.copied_bytes += entry.size * is_copied
        self._on_progress(self._summary)

    def _damaged(self) -> list[str]:
        """What of finished pages is gone, or is not as it was kept, but for those that were worked on meanwhile."""
        found, reworked = set(self._summary.damaged), set(self._summary.changed_meanwhile)
        for page in self._pages.finished().iterator(PAGES_AT_ONCE):
            verdict = verdict_on(page, folder=self._folder.root / page.output_dir, is_quick=True)
            found.update(f"{page.output_dir}/{name}" for name in (verdict.damaged_files if verdict else ()))
        return sorted(path for path in found if path.split("/")[_ID] not in reworked)


def _is_like(former: BackupEntry, entry: BackupEntry) -> bool:
    """Whether a link to the former file would have the size, mode and time of this one."""
    return (former.size, former.mode, former.mtime_ns) == (entry.size, entry.mode, entry.mtime_ns)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
