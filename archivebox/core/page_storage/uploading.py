"""Owns storing the files of a page: its row first, then the object, then that the page needs it."""

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import lock_names, write_transaction
from archivebox.base_models.work import lease_clock
from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.copies import CopyNote, read_note, write_note
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.lib.object_store import ObjectStore, StoreUnavailableError, UploadMissingError, is_sent_at_once
from archivebox.machine.host import Machine
from archivebox.storage.page_archive import BLOCK, FolderMember, directory_digest, member_list, open_archive

COLLECTION_DATA = b"{}\n"
COLLECTION = "collection/"
"""How the key of the one object begins that says whose store it is."""
PAGES = "pages/"
"""How the keys of pages begin."""


@dataclass(frozen=True, slots=True)
class PageContents:
    """What is to be stored of a page."""

    folder: Path
    members: Sequence[FolderMember]
    size: int
    sha256: str
    directory: str


@dataclass(frozen=True, slots=True)
class PageUpload:
    """The rows of the object that a page will have, and of the one that says whose store it is; both are on record."""

    contents: PageContents
    page: StoredObject
    collection: StoredObject


def read_contents(folder: Path) -> PageContents:
    """Look through the folder of a page. It reads every file; nothing may write there. OSError."""
    members = member_list(folder)
    with open_archive(folder, members) as archive:
        size, digest = archive.size, hashlib.sha256()
        while block := archive.read(BLOCK):
            digest.update(block)
        directory = directory_digest(archive.members)
    return PageContents(folder, members, size, digest.hexdigest(), directory)


def begin_upload(snapshot: UUID, contents: PageContents) -> PageUpload:
    """Put on record what is about to be stored. An upload of this machine that can be resumed, is."""
    with write_transaction():
        return PageUpload(contents, _page_row(snapshot, contents), _collection_row())


def send_page(upload: PageUpload, note_upload: Callable[[str], None], may_go_on: Callable[[], bool]) -> None:
    """Store the page. Blocks; asks no database. ObjectStoreError, OSError, EOFError.

    ``note_upload`` is given the store's id of an upload that can be resumed, before anything is sent; InterruptedError
    as soon as ``may_go_on`` says no.
    """
    store = object_store()
    if upload.collection.stored_at is None:
        store.put_bytes(upload.collection.key, COLLECTION_DATA)
    with open_archive(upload.contents.folder, upload.contents.members) as archive:
        _send(store, upload, _interruptible(cast("BinaryIO", archive), may_go_on), note_upload)


def adopt(upload: PageUpload) -> None:
    """Have the page use what was stored from here on: in the transaction that seals it."""
    page, now = upload.page, lease_clock()
    StoredObject.objects.current().filter(snapshot=page.snapshot).exclude(pk=page.pk).update(unused_at=now)
    StoredObject.objects.filter(pk__in=[page.pk, upload.collection.pk]).update(stored_at=now, upload="")


def disown(snapshots: Sequence[UUID]) -> None:
    """Have the objects of pages deleted after the grace: in the transaction that deletes the pages."""
    StoredObject.objects.filter(snapshot__in=snapshots, unused_at__isnull=True).update(unused_at=lease_clock())


def note_stored(upload: PageUpload) -> None:
    """Note, before the seal is on record, that the folder has the files of either object."""
    snapshot = upload.page.snapshot
    if snapshot is not None:
        former = read_note(snapshot)
        keys = () if former is None else former.keys[-1:]
        write_note(snapshot, CopyNote((*keys, upload.page.key), upload.contents.size))


def note_adopted(upload: PageUpload) -> None:
    """Note, after the seal, that only the later counts: from now on the copy may be deleted."""
    if upload.page.snapshot is not None:
        write_note(upload.page.snapshot, CopyNote((upload.page.key,), upload.contents.size))


def store_page(snapshot: UUID, folder: Path) -> int:
    """Store a sealed page that nobody holds, and adopt that; the bytes of its object. ObjectStoreError, OSError."""
    contents = read_contents(folder)
    upload = begin_upload(snapshot, contents)

    def note_upload(upload_id: str) -> None:
        StoredObject.objects.filter(pk=upload.page.pk).update(upload=upload_id)

    send_page(upload, note_upload, lambda: True)
    note_stored(upload)
    with write_transaction():
        adopt(upload)
    note_adopted(upload)
    return contents.size


class _Interruptible(io.RawIOBase):
    """A seekable file whose next read fails once ``may_go_on`` says no."""

    def __init__(self, source: BinaryIO, may_go_on: Callable[[], bool]) -> None:
        super().__init__()
        self._source, self._may_go_on = source, may_go_on

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._source.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._source.seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        if not self._may_go_on():
            raise InterruptedError("The upload was interrupted.")
        return self._source.read(size)


def _interruptible(source: BinaryIO, may_go_on: Callable[[], bool]) -> BinaryIO:
    return cast("BinaryIO", _Interruptible(source, may_go_on))


def _send(store: ObjectStore, upload: PageUpload, source: BinaryIO, note_upload: Callable[[str], None]) -> None:
    page, size = upload.page, upload.contents.size
    if is_sent_at_once(size):
        store.put_file(page.key, source, size)
        return
    if not page.upload:
        page.upload = store.begin_upload(page.key)
        note_upload(page.upload)
    try:
        store.put_file(page.key, source, size, page.upload)
    except UploadMissingError as error:  # begin another next time
        page.upload = ""
        note_upload("")
        raise StoreUnavailableError(str(error)) from error


def _page_row(snapshot: UUID, contents: PageContents) -> StoredObject:
    machine = Machine.current().pk
    resumable = StoredObject.objects.uploading().filter(
        snapshot=snapshot, machine=machine, unused_at__isnull=True, sha256=contents.sha256
    )
    row: StoredObject = resumable.exclude(upload="").order_by("-id").first() or StoredObject(
        snapshot=snapshot, machine=machine, key=f"{PAGES}{snapshot}/{new_id()}.zip"
    )
    row.size, row.sha256, row.directory = contents.size, contents.sha256, contents.directory
    row.save()
    return row


def _collection_row() -> StoredObject:
    """One for the collection, whichever machine is the first."""
    rows = StoredObject.objects.filter(key__startswith=COLLECTION)
    if (row := rows.first()) is not None:
        return row
    lock_names([COLLECTION])
    return rows.first() or StoredObject.objects.create(key=f"{COLLECTION}{new_id()}", machine=Machine.current().pk)
