"""Owns reading single files of a page by ranges of its objects in the store."""

import hashlib
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.stored_object import PageObjects, StoredObject
from archivebox.lib.object_store import ObjectChangedError
from archivebox.storage.page_archive import ArchiveDamagedError, StoredMember, checked, read_directory
from archivebox.storage.shared_bodies import WARC


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A regular file of a page: ``size`` bytes from ``start`` on of an object; ``modified`` in seconds."""

    row: StoredObject
    name: str
    size: int
    modified: float
    start: int = 0
    member: StoredMember | None = None
    """None: a shared body, which is an object of its own."""

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """A part of it in blocks, whose bytes are not compared with anything. ObjectStoreError."""
        return object_store().read(self.row.key, self.start + start, self.start + min(stop, self.size))

    def read_checked(self) -> Iterator[bytes]:
        """All of it; ObjectChangedError at its end where these are not the bytes that were stored. ObjectStoreError."""
        if self.member is None:
            return checked_body(self.row)
        return _checked_member(self.row, self.member, self.read(0, self.size))

    def fetch(self) -> BinaryIO:
        """All of it as a temporary file. ObjectStoreError, OSError."""
        file = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - closed by who reads it
        try:
            file.writelines(self.read_checked())
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file


def stored_files(stored: PageObjects) -> list[StoredFile]:
    """The regular files of a page. ObjectStoreError. A path that a link is part of names no file."""
    page = stored.page
    members = (each for each in page_members(page) if stat.S_ISREG(each.mode))
    files = [StoredFile(page, each.name, each.size, float(each.mtime), each.start, each) for each in members]
    return [*files, *map(_file_of_body, stored.bodies)]


def find_file(stored: PageObjects, name: str) -> StoredFile | None:
    """One of them, by its path in the page's folder. ObjectStoreError."""
    body = next((body for body in stored.bodies if name == f"{WARC}/{body.name}"), None)
    if body is not None:
        return _file_of_body(body)
    return next((file for file in stored_files(stored) if file.name == name), None)


def page_members(page: StoredObject) -> Sequence[StoredMember]:
    """All that the object of a page holds, by one request or two. ObjectStoreError."""
    with damage_as_change(page):
        return read_directory(partial(_read_range, page.key), page.size)


def checked_body(body: StoredObject) -> Iterator[bytes]:
    """The blocks of a shared body; ObjectChangedError at their end if they are not its bytes."""
    digest = hashlib.sha256()
    for block in object_store().read(body.key):
        digest.update(block)
        yield block
    if digest.hexdigest() != body.sha256:
        raise ObjectChangedError(f"The object {body.key} is damaged: it is not what was stored.")


@contextmanager
def damage_as_change(page: StoredObject) -> Iterator[None]:
    """Raise ObjectChangedError where the archive of a page is damaged."""
    try:
        yield
    except ArchiveDamagedError as error:
        raise ObjectChangedError(f"The object {page.key} is damaged: {error}.") from error


def _checked_member(page: StoredObject, member: StoredMember, blocks: Iterable[bytes]) -> Iterator[bytes]:
    with damage_as_change(page):
        yield from checked(member, blocks)


def _read_range(key: str, start: int, stop: int) -> bytes:
    """A part of an object, which is small. ObjectStoreError."""
    return b"".join(object_store().read(key, start, stop))


def _file_of_body(body: StoredObject) -> StoredFile:
    modified = body.stored_at.timestamp() if body.stored_at else 0.0
    return StoredFile(body, f"{WARC}/{body.name}", body.size, modified)
