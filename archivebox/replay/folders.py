"""Owns where the files of a snapshot are read, as its rows say: in a folder of this machine, or in the object store."""

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from uuid import UUID

from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.models import Snapshot, StoredObject
from archivebox.core.page_storage.folder import absent_page, fetch_copy
from archivebox.core.page_storage.stored_file import page_members, read_part
from archivebox.lib.files import mimetype_of
from archivebox.replay.files import (
    LONGEST_LISTING,
    FolderEntry,
    NotThereError,
    OpenFile,
    PageFile,
    etag_of,
    open_beneath,
    sort_entries,
)
from archivebox.storage.layout import HOOK_RUNS
from archivebox.storage.page_archive import BlockReader, StoredMember


@dataclass(frozen=True, slots=True)
class PageFiles:
    """The files of a page. ``stored``: its object, where its files are not on this machine. Asks no database."""

    path: Path
    stored: StoredObject | None = None

    def folder(self) -> Path:
        """The folder with all of them, which may have to be fetched. Blocks. ObjectStoreError, OSError."""
        if self.stored is not None:
            fetch_copy(self.path, self.stored)
        return self.path

    def open(self, names: Sequence[str]) -> PageFile:
        """One file or folder; of what is not on this machine no more is read than is asked for. Blocks.

        NotThereError, ObjectStoreError.
        """
        return open_beneath(self.path, names) if self.stored is None else _open_stored(self.stored, names)

    def read_start(self, names: Sequence[str], most: int) -> tuple[bytes, int]:
        """The first bytes of a file, and the size of all of it. Blocks. NotThereError, ObjectStoreError."""
        opened = self.open(names)
        try:
            if opened.is_folder:
                raise NotThereError
            most = min(most, opened.size)
            return opened.reader(0, most)(most), opened.size
        finally:
            opened.close()


def files_of(snapshot: Snapshot) -> PageFiles:
    """Asked for every request, and never remembered: a copy may be deleted. Blocks."""
    return PageFiles(snapshot.path, absent_page(snapshot))


def visible_files(snapshot_id: UUID, scope: ViewerScope) -> PageFiles | None:
    """The files of this snapshot; None for one that is not there, was removed, or is not seen. Blocks.

    Asked for every file, and never remembered: what is removed or hidden is not served from then on.
    """
    snapshot = seen_by(scope, Snapshot.objects.kept()).only("output_dir").filter(pk=snapshot_id).first()
    return None if snapshot is None else files_of(snapshot)


def open_page_file(snapshot: Snapshot, names: Sequence[str]) -> OpenFile:
    """One file as ``open_beneath`` opens it; it alone is fetched if need be. Blocks.

    NotThereError, ObjectStoreError, OSError.
    """
    return files_of(snapshot).open(names).local()


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A :class:`PageFile` that is read by a range of an object."""

    stored: StoredObject
    member: StoredMember
    is_folder: bool = False

    @property
    def size(self) -> int:
        return self.member.size

    @property
    def mimetype(self) -> str:
        return mimetype_of(self.member.name.rpartition("/")[2])

    @property
    def etag(self) -> str:
        return etag_of(self.member.size, float(self.member.mtime))

    def reader(self, start: int, stop: int) -> Callable[[int], bytes]:
        return BlockReader(read_part(self.stored, self.member, start, stop)).read

    def entries(self) -> list[FolderEntry]:
        raise NotADirectoryError(self.member.name)

    def local(self) -> OpenFile:
        with TemporaryFile() as file:
            file.writelines(read_part(self.stored, self.member, 0, self.size))
            file.seek(0)
            origin = f"{self.stored.key} {self.member.name}"
            return OpenFile(os.dup(file.fileno()), self.size, float(self.member.mtime), False, self.mimetype, origin)

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class RemoteFolder:
    """A :class:`PageFile` that is a folder in the object of a page."""

    listed: list[FolderEntry]
    is_folder: bool = True
    size: int = 0
    mimetype: str = "text/html"
    etag: str = ""

    def reader(self, start: int, stop: int) -> Callable[[int], bytes]:
        raise IsADirectoryError(f"bytes {start} to {stop} of a folder")

    def entries(self) -> list[FolderEntry]:
        return sort_entries(self.listed[:LONGEST_LISTING])

    def local(self) -> OpenFile:
        raise NotThereError

    def close(self) -> None:
        pass


def _open_stored(stored: StoredObject, names: Sequence[str]) -> PageFile:
    """A path that a link is part of names no file."""
    files, path = [each for each in page_members(stored) if stat.S_ISREG(each.mode)], "/".join(names)
    if (file := next((file for file in files if file.name == path), None)) is not None:
        return RemoteFile(stored, file)
    beneath = "".join(f"{name}/" for name in names)
    below = [(file.name[len(beneath) :], file.size) for file in files if file.name.startswith(beneath)]
    if not below and names:
        raise NotThereError
    entries = {}
    for name, size in below:
        first, slash, _ = name.partition("/")
        if first != HOOK_RUNS:
            entries[first] = FolderEntry(first, bool(slash), 0 if slash else size)
    return RemoteFolder(list(entries.values()))
