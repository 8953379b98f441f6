"""Owns reading single files of a page by ranges of its object in the store."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.lib.object_store import ObjectChangedError
from archivebox.storage.page_archive import ArchiveDamagedError, BlockReader, StoredMember, checked, read_directory


def page_members(page: StoredObject) -> Sequence[StoredMember]:
    """All that the object of a page holds, by one request or two. ObjectStoreError."""

    def read_range(start: int, stop: int) -> bytes:
        return b"".join(object_store().read(page.key, start, stop))

    with damage_as_change(page):
        return read_directory(read_range, page.size, page.directory)


def read_part(page: StoredObject, member: StoredMember, start: int, stop: int) -> Iterator[bytes]:
    """A part of a file in blocks. ObjectStoreError; ObjectChangedError before the first that is not what was stored."""
    first, last = start // member.block, -(-min(stop, member.size) // member.block)
    end = min(member.start + last * member.block, member.stop)
    data = BlockReader(object_store().read(page.key, member.start + first * member.block, end))
    with damage_as_change(page):
        for number, block in enumerate(checked(member, data, first, last), first):
            offset = number * member.block
            yield block[max(start - offset, 0) : stop - offset]


@contextmanager
def damage_as_change(page: StoredObject) -> Iterator[None]:
    """Raise ObjectChangedError where the archive of a page is damaged."""
    try:
        yield
    except ArchiveDamagedError as error:
        raise ObjectChangedError(f"The object {page.key} is damaged: {error}.") from error
