"""Owns where the files of a page are read: in a folder of this machine, fetched from the object store if need be."""

from pathlib import Path

from archivebox.config.page_storage import has_store, object_store
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.page_storage.copies import CopyNote, copy_lock, note_use, read_note, write_note
from archivebox.core.page_storage.stored_file import damage_as_change, page_members
from archivebox.core.page_storage.stored_object import StoredObject, current_object
from archivebox.core.snapshot import Snapshot
from archivebox.lib.files import remove_tree
from archivebox.lib.system_calls import sync_file_system
from archivebox.storage.page_archive import unpack
from archivebox.storage.shared_files import StorageReport, remove_page, share_bodies

STORE_UNAVAILABLE = "This page's files are in an object store that does not answer. Try again later."
"""For visitors; the store's own message may name hosts."""
STORE_RETRY_AFTER = 30
"""Seconds after which visitors are told to ask again (RFC 9110, 10.2.3)."""


def local_folder(snapshot: Snapshot) -> Path:
    """The folder with the files of a page; it may be empty or absent, as before its capture. Blocks.

    With STORAGE_URL, a page that is not here, or is older than the stored one, is fetched first: ObjectStoreError.
    """
    if (absent := absent_page(snapshot)) is not None:
        fetch_copy(snapshot.path, absent)
    return snapshot.path


def absent_page(snapshot: Snapshot) -> StoredObject | None:
    """The object of a page whose files are not on this machine, or are older here; None: they are here, or nowhere."""
    return missing_page(snapshot) if has_store() else None


def missing_page(snapshot: Snapshot) -> StoredObject | None:
    """What has to be fetched before the files of a page can be read; None: they are here, or nowhere."""
    current = current_object(snapshot.pk)
    if current is None:
        return None
    note_use(snapshot.pk)  # before the look at the folder: see evict
    note = read_note(snapshot.pk)
    if note is not None:
        is_here = current.key in note.keys and snapshot.path.is_dir()
    else:  # it may be captured here, and not from a copy
        is_here = snapshot.path.is_dir() and not _is_sealed(snapshot)
    return None if is_here else current


def expect_changes(snapshot: Snapshot) -> None:
    """Have a folder that is to be written to stay until its page is stored again."""
    if has_store() and (note := read_note(snapshot.pk)) is not None:
        write_note(snapshot.pk, CopyNote(note.keys, note.size, changed=True))


def fetch_copy(folder: Path, stored: StoredObject) -> None:
    """Make the folder of a page, and note of which object it is a copy. ObjectStoreError, OSError: it is as before.

    Blocks, and asks no database. Whoever waited while another fetched the same finds it there.
    """
    with copy_lock(stored.page):
        note = read_note(stored.page)
        if note is None or stored.key not in note.keys or not folder.is_dir():
            _fetch(folder, stored)
            write_note(stored.page, CopyNote((stored.key,), stored.size))


def _fetch(folder: Path, stored: StoredObject) -> None:
    """Whole and on the disk before it is in its place."""
    fetched, former = (folder.with_name(f".{folder.name}.{name}") for name in ("fetched", "former"))
    for left in (fetched, former):  # by a process that was killed
        if left.is_dir():
            remove_tree(left)
    DATA_FOLDER.make_folder(fetched)
    members = page_members(stored)
    with damage_as_change(stored):
        unpack(fetched, members, object_store().read(stored.key))
    share_bodies(fetched, StorageReport())
    sync_file_system(fetched)
    if folder.is_dir():
        folder.rename(former)
    fetched.rename(folder)
    if former.is_dir():
        remove_page(former)


def _is_sealed(snapshot: Snapshot) -> bool:
    return Snapshot.objects.filter(pk=snapshot.pk, status=Snapshot.StatusChoices.SEALED).exists()
