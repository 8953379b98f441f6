"""Owns reading single files of a page by ranges of its object in the store."""

import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.lib.object_store import ObjectChangedError
from archivebox.storage.page_archive import ArchiveDamagedError, StoredMember, checked, directory_digest, read_directory


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A regular file of a page, which is a range of its object."""

    row: StoredObject
    member: StoredMember

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def size(self) -> int:
        return self.member.size

    @property
    def modified(self) -> float:
        """In seconds."""
        return float(self.member.mtime)

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """A part of it in blocks. ObjectStoreError; ObjectChangedError before the first that is not what was stored."""
        member, size = self.member, self.member.block
        first, last = start // size, -(-min(stop, member.size) // size)
        data = object_store().read(
            self.row.key, member.start + first * size, min(member.start + last * size, member.stop)
        )
        with damage_as_change(self.row):
            for number, block in enumerate(checked(member, data, first, last), first):
                yield block[max(start - number * size, 0) : stop - number * size]

    def fetch(self) -> BinaryIO:
        """All of it as a temporary file. ObjectStoreError, OSError."""
        file = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - closed by who reads it
        try:
            file.writelines(self.read(0, self.size))
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file


def stored_files(page: StoredObject) -> list[StoredFile]:
    """The regular files of a page. ObjectStoreError. A path that a link is part of names no file."""
    return [StoredFile(page, each) for each in page_members(page) if stat.S_ISREG(each.mode)]


def page_members(page: StoredObject) -> Sequence[StoredMember]:
    """All that the object of a page holds, by one request or two. ObjectStoreError."""
    with damage_as_change(page):
        members = read_directory(partial(_read_range, page.key), page.size)
    if directory_digest(members) != page.directory:
        raise ObjectChangedError(f"The object {page.key} was replaced: it is not the one that was stored.")
    return members


@contextmanager
def damage_as_change(page: StoredObject) -> Iterator[None]:
    """Raise ObjectChangedError where the archive of a page is damaged."""
    try:
        yield
    except ArchiveDamagedError as error:
        raise ObjectChangedError(f"The object {page.key} is damaged: {error}.") from error


def _read_range(key: str, start: int, stop: int) -> bytes:
    """A part of an object, which is small. ObjectStoreError."""
    return b"".join(object_store().read(key, start, stop))
