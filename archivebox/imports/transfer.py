"""Owns bringing one file into the collection: it is copied or linked, and hashed."""

import errno
import hashlib
import os
import stat
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

BLOCK = 1024 * 1024
"""Bytes read at a time."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CANNOT_LINK = frozenset({errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP})
"""Another disk, a file of somebody else, too many links, or a file system without them: then the file is copied."""


class Transfer(StrEnum):
    """What becomes of the files of the source."""

    COPY = "copy"
    LINK = "link"
    """The collection and the source share the files' content (hard links), where they lie on one disk."""
    MOVE = "move"
    """The same; when all was imported and compared, the files are removed from the source."""


class SourceFileError(Exception):
    """A file of the source that cannot be read; the message says why."""


class TakenFile(NamedTuple):
    """What was brought into the collection."""

    sha256: str
    size: int


def take_file(source: Path, target: Path, transfer: Transfer) -> TakenFile:
    """Have the content of ``source`` at ``target``, whose folder is there; SourceFileError, OSError of the target."""
    descriptor = _open(source)
    try:
        status = os.fstat(descriptor)
        if transfer is not Transfer.COPY and _link(source, target, status):
            return _pump(descriptor, None)
        return _copy(descriptor, target, status)
    finally:
        os.close(descriptor)


def _copy(descriptor: int, target: Path, status: os.stat_result) -> TakenFile:
    written = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        taken = _pump(descriptor, written)
        os.utime(written, ns=(status.st_atime_ns, status.st_mtime_ns))
    except SourceFileError:
        target.unlink()
        raise
    finally:
        os.close(written)
    return taken


def _open(source: Path) -> int:
    """A descriptor of a regular file; a link, a pipe or a device is none."""
    try:
        descriptor = os.open(source, _FLAGS)
    except (OSError, ValueError) as error:
        is_link = isinstance(error, OSError) and error.errno == errno.ELOOP
        raise SourceFileError("It is a symbolic link." if is_link else f"It cannot be read: {error}.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SourceFileError("It is no regular file.")
    return descriptor


def _link(source: Path, target: Path, status: os.stat_result) -> bool:
    """Whether ``target`` is now another name of the very file that was opened."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno in _CANNOT_LINK:
            return False
        raise
    if os.path.samestat(status, target.lstat()):
        return True
    target.unlink()
    raise SourceFileError("It was replaced while it was read.")


def _pump(source: int, target: int | None) -> TakenFile:
    digest, size = hashlib.sha256(), 0
    while block := _read(source):
        digest.update(block)
        size += len(block)
        if target is not None:
            _write(target, block)
    return TakenFile(digest.hexdigest(), size)


def _read(source: int) -> bytes:
    try:
        return os.read(source, BLOCK)
    except OSError as error:
        raise SourceFileError(f"It cannot be read: {error.strerror}.") from None


def _write(target: int, block: bytes) -> None:
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(target, rest) :]


def remove_source(source: Path, target: Path) -> None:
    """Delete a file of the source whose content is in the collection; it stays where that has another size."""
    with suppress(FileNotFoundError):
        if source.lstat().st_size == target.stat().st_size:
            source.unlink()
