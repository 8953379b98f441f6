"""Owns which files are sources of imports: those people upload, and paths of the server that they may name."""

import fcntl
import hashlib
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import base_layers, resolve_settings
from archivebox.imports.page import NotReadableError
from archivebox.lib.files import remove_tree

SETTING = "IMPORT_DIR"
_OF_THE_SYSTEM = (Path("/proc"), Path("/sys"), Path("/dev"))
"""Not files that somebody has saved; some of these lead to those of other processes."""


def import_root() -> Path | None:
    """Below it anything may be named; None: nothing may."""
    text = resolve_settings(base_layers()).get_text(SETTING)
    return Path(text).resolve() if text else None


def checked_path(text: str) -> Path:
    """What somebody named, without links on the way to it; NotReadableError where it may not or cannot be read.

    What lies outside of IMPORT_DIR is refused before it is looked at, so that nobody learns what is there.
    """
    root = import_root()
    if root is None:
        raise NotReadableError(f"Folders of the server cannot be named here: {SETTING} is empty.")
    path = _resolved(text)
    if not path.is_relative_to(root):
        raise NotReadableError(f"{path} is not in {root}, the folder that {SETTING} allows.")
    if any(path.is_relative_to(one) for one in _OF_THE_SYSTEM):
        raise NotReadableError(f"{path} is a folder of the system.")
    if any(path.is_relative_to(own) or own.is_relative_to(path) for own in _own_folders()):
        raise NotReadableError(f"{path} is part of this collection, or contains it.")
    return _readable(path)


def _resolved(text: str) -> Path:
    if not text.startswith("/") or not text.isprintable():
        raise NotReadableError("Enter the whole path on the server; it begins with /.")
    try:
        return Path(text).resolve()
    except (OSError, RuntimeError):  # RuntimeError: links that lead to each other
        raise NotReadableError(f"{text} cannot be followed: one of its links leads nowhere.") from None


def _own_folders() -> list[Path]:
    """The data folder, and what it keeps elsewhere by links."""
    links = (one.resolve() for one in DATA_FOLDER.root.iterdir() if one.is_symlink())
    return [DATA_FOLDER.root.resolve(), *links]


def _readable(path: Path) -> Path:
    """Reading from what is neither folder nor regular file, such as a pipe, may never end."""
    try:
        is_source, is_there = path.is_dir() or path.is_file(), path.exists()
    except OSError:
        is_source = is_there = False
    if not is_there:
        raise NotReadableError(f"Nothing was found at {path}, or the server has no permission to read it.")
    if not is_source:
        raise NotReadableError(f"{path} is neither a folder nor a regular file.")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise NotReadableError(f"The server has no permission to read {path}.")
    return path


# --- uploaded files ---------------------------------------------------------------------------------------------------
PIECE = 8_000_000
"""Bytes that are sent at a time, less than the body of any request may have."""
_NEW = 3_600
"""Seconds for which a file is left alone whoever needs it: its job is written after it."""
_LONGEST_NAME = 100
_KEY = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class ImportUpload:
    """A file of so many bytes, or what has arrived of it. ``key``: of the job that waits for it."""

    key: UUID
    name: str
    size: int

    @property
    def folder(self) -> Path:
        return DATA_FOLDER.uploads / str(self.key)

    @property
    def path(self) -> Path:
        """Readers tell by its ending what it is; the rest of its name is of letters that mean nothing to anybody."""
        return self.folder / file_name(self.name)

    @property
    def received(self) -> int:
        """Bytes that have arrived; -1: it was removed."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return -1

    def create(self) -> None:
        """NotReadableError where the disk has no place for it."""
        DATA_FOLDER.imports.mkdir(mode=0o700, exist_ok=True)
        DATA_FOLDER.uploads.mkdir(mode=0o700, exist_ok=True)
        if self.size > shutil.disk_usage(DATA_FOLDER.uploads).free:
            raise NotReadableError("The disk of the server has not enough space for this file.")
        self.folder.mkdir(mode=0o700)
        self.path.touch(0o600)

    def append(self, offset: int, piece: bytes) -> int:
        """Write a piece that begins at this byte, unless it is there already; returns how many bytes are there.

        Whoever sends it goes on from there, also after an answer that was lost. FileNotFoundError where it was
        removed; NotReadableError for more than was announced; OSError of the disk.
        """
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "ab") as file:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # until the file is closed
            there = os.fstat(descriptor).st_size
            if offset == there and there + len(piece) > self.size:
                raise NotReadableError("The file is larger than announced.")
            if offset == there:
                file.write(piece)
                file.flush()
                os.fsync(descriptor)
            return os.fstat(descriptor).st_size

    def remove(self) -> None:
        if self.folder.is_dir():
            remove_tree(self.folder)


def file_name(text: str) -> str:
    """The last part of what somebody calls a file, as a name that is safe in a folder."""
    name = _NOT_IN_NAMES.sub("_", text.replace("\\", "/").rpartition("/")[2])
    return name.lstrip(".")[-_LONGEST_NAME:].lstrip(".") or "file"


def uploaded_keys() -> list[UUID]:
    """Of which jobs files are there. Whatever else somebody put into that folder stays."""
    folder = DATA_FOLDER.uploads
    names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
    return [UUID(name) for name in names if _KEY.fullmatch(name)]


def is_new(key: UUID) -> bool:
    try:
        return time.time() - ImportUpload(key, "", 0).folder.stat().st_mtime < _NEW
    except FileNotFoundError:
        return True


def remove_upload(key: UUID) -> None:
    """Delete the file of this job, if one is there."""
    ImportUpload(key, "", 0).remove()


_READ = 1 << 20
"""Bytes at the beginning and at the end: an archive of 100 GB is not read once more for its name."""


def identity_of(path: Path) -> str:
    """A hash of the file's size, beginning and end."""
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_READ))
        file.seek(max(0, size - _READ))
        digest.update(file.read(_READ))
    return digest.hexdigest()
