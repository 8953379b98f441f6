"""Owns making the folder of a page from its objects in the store."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.copies import CopyNote, copy_lock, read_note, write_note
from archivebox.core.page_storage.stored_object import StoredObject
from archivebox.core.snapshot import Snapshot
from archivebox.lib.files import remove_tree
from archivebox.lib.object_store import ObjectChangedError
from archivebox.lib.syncing import sync_file_system
from archivebox.storage.page_archive import ArchiveDamagedError, checked, read_directory, unpack
from archivebox.storage.shared_bodies import WARC, linked_digest, remove_page, store_of, stored_path

_BODY_MODE = 0o444


@dataclass(frozen=True, slots=True)
class PageObjects:
    """The objects that have the files of a page."""

    page: StoredObject
    bodies: list[StoredObject]


def page_objects(page: StoredObject) -> PageObjects:
    """With its bodies, as rows name them."""
    return PageObjects(page, list(page.bodies.all()))


def fetch_copy(snapshot: Snapshot, stored: PageObjects) -> None:
    """Make the folder of a page, and note of which object it is a copy. ObjectStoreError, OSError: it is as before.

    Blocks, and asks no database. Whoever waited while another fetched the same finds it there.
    """
    with copy_lock(snapshot.pk):
        note = read_note(snapshot.pk)
        if note is None or stored.page.key not in note.keys or not snapshot.path.is_dir():
            _fetch(snapshot.path, stored)
            write_note(snapshot.pk, CopyNote((stored.page.key,), stored.page.size))


def fetch_file(stored: PageObjects, name: str) -> BinaryIO | None:
    """One file of a page as a temporary file, by a range of its object; None: there is none. ObjectStoreError, OSError.

    A path that a link is part of names no file.
    """
    body = next((body for body in stored.bodies if name == f"{WARC}/{body.name}"), None)
    if body is not None:
        return _temporary(_checked_body(body))
    page = stored.page
    try:
        members = read_directory(partial(read_range, page.key), page.size)
        member = next((each for each in members if each.name == name and stat.S_ISREG(each.mode)), None)
        if member is None:
            return None
        return _temporary(checked(member, object_store().read(page.key, member.start, member.stop)))
    except ArchiveDamagedError as error:
        raise ObjectChangedError(f"The object {page.key} is damaged: {error}.") from error


def _temporary(blocks: Iterable[bytes]) -> BinaryIO:
    file = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - closed by who reads it
    try:
        file.writelines(blocks)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def sha256_of(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(folder: Path, stored: PageObjects) -> None:
    """Whole and on the disk before it is in its place."""
    fetched, former = (folder.with_name(f".{folder.name}.{name}") for name in ("fetched", "former"))
    for left in (fetched, former):  # by a process that was killed
        if left.is_dir():
            remove_tree(left)
    fetched.mkdir(parents=True)
    try:
        members = read_directory(partial(read_range, stored.page.key), stored.page.size)
        unpack(fetched, members, object_store().read(stored.page.key))
    except ArchiveDamagedError as error:
        raise ObjectChangedError(f"The object {stored.page.key} is damaged: {error}.") from error
    for body in stored.bodies:
        _add_body(fetched, body)
    sync_file_system(fetched)
    if folder.is_dir():
        folder.rename(former)
    fetched.rename(folder)
    if former.is_dir():
        remove_page(former)


def read_range(key: str, start: int, stop: int) -> bytes:
    """A part of an object, which is small. ObjectStoreError."""
    return b"".join(object_store().read(key, start, stop))


def _add_body(page: Path, body: StoredObject) -> None:
    """Link a shared body to the owner's copy on this machine, or fetch it, and store it for the owner's next page."""
    target, store = page / WARC / body.name, store_of(page)
    target.parent.mkdir(exist_ok=True)
    shared = None if store is None else Path(stored_path(str(store), linked_digest(body.name)))
    with suppress(OSError):
        if shared is not None and sha256_of(shared) == body.sha256:
            os.link(shared, target)
            return
    _fetch_body(target, body)
    with suppress(OSError):  # another file has this body already, or no links can be made here
        if shared is not None:
            shared.parent.mkdir(parents=True, exist_ok=True)
            os.link(target, shared)


def _fetch_body(target: Path, body: StoredObject) -> None:
    with target.open("xb") as file:
        file.writelines(_checked_body(body))
    target.chmod(_BODY_MODE)


def _checked_body(body: StoredObject) -> Iterator[bytes]:
    """The blocks of a shared body; ObjectChangedError at their end if they are not its bytes."""
    digest = hashlib.sha256()
    for block in object_store().read(body.key):
        digest.update(block)
        yield block
    if digest.hexdigest() != body.sha256:
        raise ObjectChangedError(f"The object {body.key} is damaged: it is not what was stored.")
