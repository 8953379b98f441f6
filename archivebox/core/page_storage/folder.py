"""Owns where the files of a page are read: in a folder of this machine, fetched from the object store if need be.

The folder of a page that is in the store is a local copy; the least recently used ones are deleted. Notes on copies:

run/page-copies/<id>          {"keys": [...], "size": ..., "changed": ...}; its time is when the copy was last used
run/page-copies/lock-<ab>     held while a copy of a page whose id ends so is fetched or deleted
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

from archivebox.config.page_storage import has_store, object_store
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.page_storage.stored_file import damage_as_change, page_members
from archivebox.core.page_storage.stored_object import StoredObject, current_object
from archivebox.core.snapshot import Snapshot
from archivebox.lib.files import atomic_write, locked, remove_tree
from archivebox.lib.system_calls import sync_file_system
from archivebox.storage.page_archive import unpack
from archivebox.storage.shared_files import StorageReport, remove_page, share_bodies

STORE_UNAVAILABLE = "This page's files are in an object store that does not answer. Try again later."
"""For visitors; the store's own message may name hosts."""
STORE_RETRY_AFTER = 30
"""Seconds after which visitors are told to ask again (RFC 9110, 10.2.3)."""
IN_USE = 600.0
"""Seconds after its last use in which no copy is deleted: somebody may still read in it."""


def local_folder(snapshot: Snapshot) -> Path:
    """The folder with the files of a page; it may be empty or absent, as before its capture. Blocks.

    With STORAGE_URL, a page that is not here, or is older than the stored one, is fetched first: ObjectStoreError.
    """
    if (absent := absent_page(snapshot)) is not None:
        fetch_copy(snapshot.path, absent)
    return snapshot.path


def absent_page(snapshot: Snapshot) -> StoredObject | None:
    """What has to be fetched before the files of a page can be read; None: they are here, or nowhere."""
    if not has_store() or (current := current_object(snapshot.pk)) is None:
        return None
    with suppress(FileNotFoundError):  # before the look at the folder: see _move_away
        os.utime(note_path(snapshot.pk))
    note = read_note(snapshot.pk)
    if note is not None:
        is_here = current.key in note.keys and snapshot.path.is_dir()
    else:  # it may be captured here, and not from a copy
        is_sealed = Snapshot.objects.filter(pk=snapshot.pk, status=Snapshot.StatusChoices.SEALED).exists()
        is_here = snapshot.path.is_dir() and not is_sealed
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


# --- notes ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class CopyNote:
    """Which objects a local copy may be of: usually one; two during a seal, before the newer one is in the database."""

    keys: tuple[str, ...]
    size: int
    changed: bool = False
    """Whether something was, or may be, written into it since: it may not be deleted."""
    is_kept: bool = False
    """Whether it stays however large the copies are: the store is to be given up."""


def note_path(snapshot: UUID) -> Path:
    return DATA_FOLDER.page_copies / str(snapshot)


def read_note(snapshot: UUID) -> CopyNote | None:
    """The note of a page; None where its folder is no copy, or its note is damaged."""
    try:
        found = json.loads(note_path(snapshot).read_bytes())
        return CopyNote(tuple(found["keys"]), int(found["size"]), bool(found["changed"]), bool(found["is_kept"]))
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def write_note(snapshot: UUID, note: CopyNote) -> None:
    """The write counts as a use."""
    DATA_FOLDER.page_copies.mkdir(mode=0o700, exist_ok=True)
    atomic_write(note_path(snapshot), json.dumps(asdict(note)))


def drop_note(snapshot: UUID) -> None:
    """Have a folder be no copy any more."""
    note_path(snapshot).unlink(missing_ok=True)


def noted_copies() -> Iterator[UUID]:
    return (UUID(path.name) for path in DATA_FOLDER.page_copies.glob("*-*-*-*-????????????"))


@contextmanager
def copy_lock(snapshot: UUID, *, blocking: bool = True) -> Iterator[bool]:
    """The lock to fetch or delete a copy; yields False if another process holds it (when not ``blocking``)."""
    DATA_FOLDER.page_copies.mkdir(mode=0o700, exist_ok=True)
    with locked(DATA_FOLDER.page_copies / f"lock-{snapshot.hex[-2:]}", blocking=blocking) as descriptor:
        yield descriptor is not None


# --- deleting copies --------------------------------------------------------------------------------------------------
def evict(limit: int) -> int:
    """Delete copies, the longest unused first, until the rest has at most ``limit`` bytes; the bytes deleted.

    One stays that is at work, changed, used of late, or not what its page has in the store. That of no page goes.
    """
    found = []
    for key in noted_copies():
        with suppress(FileNotFoundError):
            used_at, note = note_path(key).stat().st_mtime, read_note(key)
            if note is not None and not (note.changed or note.is_kept):
                found.append((used_at, note.size, key))
    total, deleted = sum(size for _, size, _ in found), 0
    for used_at, size, key in sorted(found):
        if total - deleted <= limit or time.time() - used_at < IN_USE:
            break
        if _delete_copy(key):
            deleted += size
    return deleted


def _delete_copy(key: UUID) -> bool:
    snapshot, current = Snapshot.objects.filter(pk=key).first(), current_object(key)
    with copy_lock(key, blocking=False) as is_ours:
        note = read_note(key)
        if not is_ours or note is None or note.changed:
            return False
        if snapshot is None:
            drop_note(key)
            return True
        is_stored = current is not None and note.keys == (current.key,)
        if not is_stored or snapshot.status != Snapshot.StatusChoices.SEALED or snapshot.owner is not None:
            return False
        return _move_away(snapshot)


def _move_away(snapshot: Snapshot) -> bool:
    """A reader notes its use before it looks for the folder: if one did so meanwhile, the folder comes back."""
    folder, aside = snapshot.path, snapshot.path.with_name(f".{snapshot.pk}.evicted")
    try:
        folder.rename(aside)
    except FileNotFoundError:
        drop_note(snapshot.pk)
        return True
    if time.time() - note_path(snapshot.pk).stat().st_mtime < IN_USE:
        aside.rename(folder)
        return False
    drop_note(snapshot.pk)
    remove_page(aside)
    return True
