"""Owns the notes of which page folders of this machine are copies of which objects, and deleting the oldest of these.

run/page-copies/<id>          {"keys": [...], "size": ..., "changed": ...}; its time is when the copy was last used
run/page-copies/lock-<ab>     held while a copy of a page whose id ends so is fetched or deleted
"""

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.core.page_storage.stored_object import current_object
from archivebox.core.snapshot import Snapshot
from archivebox.lib.files import atomic_write, locked
from archivebox.storage.shared_files import remove_page

log = logging.getLogger(__name__)

IN_USE = 600.0
"""Seconds after its last use in which no copy is deleted: somebody may still read in it."""


@dataclass(frozen=True, slots=True)
class CopyNote:
    """The objects whose files a folder may have; two around a seal, of which the later may not be on record yet."""

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


def note_use(snapshot: UUID) -> None:
    with suppress(FileNotFoundError):
        os.utime(note_path(snapshot))


def drop_note(snapshot: UUID) -> None:
    """Have a folder be no copy any more."""
    note_path(snapshot).unlink(missing_ok=True)


@contextmanager
def copy_lock(snapshot: UUID, *, blocking: bool = True) -> Iterator[bool]:
    """Held by whoever fetches or deletes the copy; False: somebody else does so."""
    DATA_FOLDER.page_copies.mkdir(mode=0o700, exist_ok=True)
    with locked(_lock_path(snapshot), blocking=blocking) as descriptor:
        yield descriptor is not None


def evict(limit: int) -> int:
    """Delete copies, the longest unused first, until the rest has at most ``limit`` bytes; the bytes deleted.

    One stays that is at work, changed, used of late, or not what its page has in the store. That of no page goes.
    """
    found = sorted(_used_copies())
    total, deleted = sum(size for _, size, _ in found), 0
    for used_at, size, snapshot in found:
        if total - deleted <= limit or time.time() - used_at < IN_USE:
            break
        if _delete_copy(snapshot):
            deleted += size
    return deleted


def changed_copies() -> Iterator[UUID]:
    """Pages that were written to after they were stored, and were not stored since."""
    for key in _copies():
        if (note := read_note(key)) is not None and note.changed:
            yield key


def _copies() -> Iterator[UUID]:
    return (UUID(path.name) for path in DATA_FOLDER.page_copies.glob("*-*-*-*-????????????"))


def _used_copies() -> Iterator[tuple[float, int, UUID]]:
    """When each was last used, and its size."""
    for key in _copies():
        with suppress(FileNotFoundError):
            used_at, note = note_path(key).stat().st_mtime, read_note(key)
            if note is not None and not (note.changed or note.is_kept):
                yield used_at, note.size, key


def _delete_copy(key: UUID) -> bool:
    snapshot = Snapshot.objects.filter(pk=key).first()
    current = current_object(key)
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
    note_path(snapshot.pk).unlink(missing_ok=True)
    remove_page(aside)
    return True


def _lock_path(snapshot: UUID) -> Path:
    return DATA_FOLDER.page_copies / f"lock-{snapshot.hex[-2:]}"
