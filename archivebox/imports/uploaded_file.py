"""Owns files that people upload to import what is in them: each in a folder of its own until the import has ended."""

import fcntl
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.page import NotReadableError
from archivebox.lib.files import remove_tree

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
