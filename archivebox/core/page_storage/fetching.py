"""Owns making the folder of a page from its objects in the store."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from archivebox.config.page_storage import object_store
from archivebox.core.page_storage.copies import CopyNote, copy_lock, read_note, write_note
from archivebox.core.page_storage.stored_file import checked_body, damage_as_change, page_members
from archivebox.core.page_storage.stored_object import PageObjects, StoredObject
from archivebox.lib.files import remove_tree
from archivebox.lib.syncing import sync_file_system
from archivebox.storage.page_archive import unpack
from archivebox.storage.shared_bodies import WARC, linked_digest, remove_page, store_of, stored_path

_BODY_MODE = 0o444


def fetch_copy(folder: Path, stored: PageObjects) -> None:
    """Make the folder of a page, and note of which object it is a copy. ObjectStoreError, OSError: it is as before.

    Blocks, and asks no database. Whoever waited while another fetched the same finds it there.
    """
    with copy_lock(stored.snapshot):
        note = read_note(stored.snapshot)
        if note is None or stored.page.key not in note.keys or not folder.is_dir():
            _fetch(folder, stored)
            write_note(stored.snapshot, CopyNote((stored.page.key,), stored.page.size))


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
    members = page_members(stored.page)
    with damage_as_change(stored.page):
        unpack(fetched, members, object_store().read(stored.page.key))
    for body in stored.bodies:
        _add_body(fetched, body)
    sync_file_system(fetched)
    if folder.is_dir():
        folder.rename(former)
    fetched.rename(folder)
    if former.is_dir():
        remove_page(former)


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
        file.writelines(checked_body(body))
    target.chmod(_BODY_MODE)
