"""Owns storing the files of a page: its rows first, then the objects, then which of them the page needs."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import lock_names, write_transaction
from archivebox.base_models.work import lease_clock
from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.copies import CopyNote, read_note, write_note
from archivebox.core.page_storage.fetching import sha256_of
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.lib.object_store import ObjectStore, StoreUnavailableError, UploadMissingError, is_sent_at_once
from archivebox.machine.host import Machine
from archivebox.storage.page_archive import BLOCK, FolderMember, member_list, open_archive
from archivebox.storage.shared_bodies import WARC, is_linked_name, store_of

COLLECTION_DATA = b"{}\n"
COLLECTION = "collection/"
"""How the key of the one object begins that says whose store it is."""
PAGES, BODIES = "pages/", "shared/"
"""How the keys of pages and of shared bodies begin."""


class BodyGoneError(Exception):
    """A shared body that a page was to use was deleted meanwhile: store the page again."""


@dataclass(frozen=True, slots=True)
class BodyFile:
    """A shared body in the folder of a page."""

    name: str
    path: Path
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PageContents:
    """What is to be stored of a page."""

    folder: Path
    members: Sequence[FolderMember]
    size: int
    sha256: str
    bodies: list[BodyFile]


@dataclass(frozen=True, slots=True)
class PageUpload:
    """The rows of the objects that a page will have, which are on record."""

    contents: PageContents
    page: StoredObject
    new_bodies: list[tuple[StoredObject, BodyFile]]
    known_bodies: list[UUID]
    collection: StoredObject
    sent: set[str] = field(default_factory=set)
    """Keys of bodies that are in the store by now: an attempt that fails is not made from the start."""


def read_contents(folder: Path) -> PageContents:
    """Look through the folder of a page. It reads every file; nothing may write there. OSError."""
    bodies = list(_bodies_in(folder / WARC))
    left_out = {f"{WARC}/{body.name}" for body in bodies}
    members = member_list(folder, left_out.__contains__)
    with open_archive(folder, members) as archive:
        size, digest = archive.size, hashlib.sha256()
        while block := archive.read(BLOCK):
            digest.update(block)
    return PageContents(folder, members, size, digest.hexdigest(), bodies)


def begin_upload(snapshot: UUID, contents: PageContents) -> PageUpload:
    """Put on record what is about to be stored. An upload of this machine that can be resumed, is."""
    with write_transaction():
        page = _page_row(snapshot, contents)
        known = _known_bodies(contents)
        owner = _owner_of(contents.folder)
        new = [(_body_row(owner, body), body) for body in contents.bodies if body.sha256 not in known]
        return PageUpload(contents, page, new, list(known.values()), _collection_row())


def send_objects(upload: PageUpload, note_upload: Callable[[str], None], may_go_on: Callable[[], bool]) -> None:
    """Store all that is not in the store yet. Blocks; asks no database. ObjectStoreError, OSError, EOFError.

    ``note_upload`` is given the store's id of an upload that can be resumed, before anything is sent; InterruptedError
    as soon as ``may_go_on`` says no.
    """
    store = object_store()
    if upload.collection.stored_at is None:
        store.put_bytes(upload.collection.key, COLLECTION_DATA)
    for row, body in upload.new_bodies:
        if row.key in upload.sent:
            continue
        with body.path.open("rb") as file:
            store.put_file(row.key, _interruptible(file, may_go_on), body.size)
        upload.sent.add(row.key)
    with open_archive(upload.contents.folder, upload.contents.members) as archive:
        _send_page(store, upload, _interruptible(cast("BinaryIO", archive), may_go_on), note_upload)


def adopt(upload: PageUpload) -> None:
    """Have the page use what was stored from here on: in the transaction that seals it. BodyGoneError."""
    page, now = upload.page, lease_clock()
    used = [row.pk for row, _ in upload.new_bodies] + upload.known_bodies
    stored = StoredObject.objects.filter(pk__in=used, is_deleted=False)
    if len(stored.order_by("pk").select_for_update().values_list("pk", flat=True)) < len(set(used)):
        raise BodyGoneError
    stored.filter(stored_at__isnull=True).update(stored_at=now)
    stored.filter(unused_at__isnull=False).update(unused_at=None)
    StoredObject.objects.current().filter(snapshot=page.snapshot).exclude(pk=page.pk).update(unused_at=now)
    StoredObject.objects.filter(pk__in=[page.pk, upload.collection.pk]).update(stored_at=now, upload="")
    page.bodies.set(StoredObject.objects.filter(pk__in=used))


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

    send_objects(upload, note_upload, lambda: True)
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


def _send_page(store: ObjectStore, upload: PageUpload, source: BinaryIO, note_upload: Callable[[str], None]) -> None:
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
    row.size, row.sha256 = contents.size, contents.sha256
    row.save()
    return row


def _known_bodies(contents: PageContents) -> dict[str, UUID]:
    """SHA-256 → the stored object of each body that is in the store; one that nothing uses stays for another grace."""
    wanted = StoredObject.objects.filter(
        owner=_owner_of(contents.folder),
        sha256__in=[body.sha256 for body in contents.bodies],
        stored_at__isnull=False,
        is_deleted=False,
    )
    known = dict(wanted.values_list("sha256", "pk")) if contents.bodies else {}
    StoredObject.objects.filter(pk__in=known.values(), unused_at__isnull=False).update(unused_at=lease_clock())
    return known


def _body_row(owner: str, body: BodyFile) -> StoredObject:
    key = f"{BODIES}of-{owner}/{body.sha256[:2]}/{body.sha256}/{new_id()}.warc.gz"
    row = StoredObject(
        key=key, size=body.size, sha256=body.sha256, owner=owner, name=body.name, machine=Machine.current().pk
    )
    row.save()
    return row


def _collection_row() -> StoredObject:
    """One for the collection, whichever machine is the first."""
    rows = StoredObject.objects.filter(key__startswith=COLLECTION)
    if (row := rows.first()) is not None:
        return row
    lock_names([COLLECTION])
    return rows.first() or StoredObject.objects.create(key=f"{COLLECTION}{new_id()}", machine=Machine.current().pk)


def _bodies_in(folder: Path) -> Iterator[BodyFile]:
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []
    for name in filter(is_linked_name, names):
        path = folder / name
        if path.is_file() and not path.is_symlink():
            yield BodyFile(name, path, path.stat().st_size, sha256_of(path))


def _owner_of(folder: Path) -> str:
    """The name of the folder of a page's owner."""
    store = store_of(folder)
    return "" if store is None else store.parent.name
