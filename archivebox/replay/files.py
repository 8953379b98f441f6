"""Owns the way from a path in an address to a file of one folder, and never to one outside of it."""

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote_to_bytes

from archivebox.lib.files import mimetype_of
from archivebox.storage.layout import HOOK_RUNS

LONGEST_LISTING = 5_000
"""Names of one folder that are listed."""


class NotThereError(Exception):
    """No file of this name in the folder, or none that may be read."""


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One line of a listing."""

    name: str
    is_folder: bool
    size: int


class PageFile(Protocol):
    """A file or folder of a page, on this machine or in the object store. Whoever has it calls ``close``.

    What reads may raise ObjectStoreError.
    """

    @property
    def size(self) -> int: ...
    @property
    def is_folder(self) -> bool: ...
    @property
    def mimetype(self) -> str: ...
    @property
    def etag(self) -> str: ...

    def reader(self, start: int, stop: int) -> Callable[[int], bytes]:
        """Reads that part of a file from its start on; each call blocks, and returns at most so many bytes."""
        ...

    def entries(self) -> list[FolderEntry]:
        """What is in a folder. Blocks."""
        ...

    def local(self) -> "OpenFile":
        """All of a file on this machine. Blocks. Whoever has it closes it, and not this one."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open file or folder. Whoever has it closes ``descriptor``.

    ``origin``: of a file that was fetched from the store, what is another when its bytes are.
    """

    descriptor: int
    size: int
    modified: float
    is_folder: bool
    mimetype: str
    origin: str = ""

    @property
    def etag(self) -> str:
        return etag_of(self.size, self.modified)

    @property
    def identity(self) -> str:
        """Another for other bytes."""
        status = os.fstat(self.descriptor)
        return self.origin or f"{status.st_dev} {status.st_ino} {self.etag}"

    def reader(self, start: int, stop: int) -> Callable[[int], bytes]:
        del stop  # who reads knows how much there is
        os.lseek(self.descriptor, start, os.SEEK_SET)
        return partial(os.read, self.descriptor)

    def entries(self) -> list[FolderEntry]:
        return list_folder(self.descriptor)

    def local(self) -> "OpenFile":
        return self

    def close(self) -> None:
        os.close(self.descriptor)


def etag_of(size: int, modified: float) -> str:
    """A validator of a file (RFC 9110, 8.8.3)."""
    return f'"{size:x}-{int(modified * 1e6):x}"'


def split_path(path: str) -> list[str]:
    """The names in the percent-encoded path of an address; NotThereError for those that no honest link has."""
    raw = unquote_to_bytes(path)
    names = [os.fsdecode(name) for name in raw.split(b"/") if name]
    if any(name in {".", "..", HOOK_RUNS} or "\0" in name for name in names):
        raise NotThereError
    return names


def open_beneath(folder: Path, names: Sequence[str]) -> OpenFile:
    """Open what lies at ``names`` below ``folder``; NotThereError if nothing does, or if a link is on the way.

    Every name is opened relative to the one before, without following links (openat(2), O_NOFOLLOW): what a clone or
    an archive put there cannot lead outside, nor can what is exchanged between a check and its use. A FIFO or a
    device does not hold us up (O_NONBLOCK), and is refused.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(folder, flags | os.O_DIRECTORY)
    except OSError as error:
        raise NotThereError from error
    for name in names:
        parent = descriptor
        try:
            descriptor = os.open(name, flags, dir_fd=parent)
        except OSError as error:  # not there, a link (ELOOP), below a file (ENOTDIR), name too long, not readable
            raise NotThereError from error
        finally:
            os.close(parent)
    return _described(descriptor, names[-1] if names else "")


def _described(descriptor: int, name: str) -> OpenFile:
    status = os.fstat(descriptor)
    is_folder = stat.S_ISDIR(status.st_mode)
    if not is_folder and not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotThereError
    mimetype = "text/html" if is_folder else mimetype_of(name)
    return OpenFile(descriptor, status.st_size, status.st_mtime, is_folder, mimetype)


def list_folder(descriptor: int) -> list[FolderEntry]:
    """Folders first, then files, by name; links and the engine's own folder are left out."""
    found: list[FolderEntry] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.name == HOOK_RUNS or entry.is_symlink() or len(found) >= LONGEST_LISTING:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            found.append(
                FolderEntry(entry.name, is_folder, 0 if is_folder else entry.stat(follow_symlinks=False).st_size)
            )
    return sort_entries(found)


def sort_entries(entries: Sequence[FolderEntry]) -> list[FolderEntry]:
    """Folders first."""
    return sorted(entries, key=lambda entry: (not entry.is_folder, entry.name))


def parse_range(header: str, size: int) -> tuple[int, int] | None:
    """The bytes [start, end) that a Range header asks for (RFC 9110, 14.2); None: all of it.

    ValueError when they lie beyond the end. Several ranges at once are answered with the whole, as the RFC allows.
    """
    unit, _, wanted = header.partition("=")
    first, dash, last = wanted.strip().partition("-")
    if unit.strip().lower() != "bytes" or not dash or "," in wanted or not _is_number(first + last):
        return None
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1 if last else size)
        if last and int(last) < start:
            return None
    if start >= end:
        raise ValueError("the range lies beyond the end")
    return start, end


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 40
