"""Owns bringing one file into the collection: it is copied or linked, and hashed."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

BLOCK = 1024 * 1024
"""Bytes read at a time."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a file that is not there yet."""
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


class HashedFile(NamedTuple):
    """The content of a file, as it was read."""

    sha256: str
    size: int


def transfer_file(source: str, target: str, transfer: Transfer, stop: Callable[[], None]) -> HashedFile:
    """Have the content of ``source`` at ``target``, whose folder is there; SourceFileError, OSError of the target.

    ``stop`` is called before each block, and may raise.
    """
    descriptor = _open(source)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SourceFileError("It is not a regular file.")
        if transfer is not Transfer.COPY and _link(source, target, status):
            return _hash(descriptor, status.st_size, stop)
        return _copy(descriptor, target, status, stop)
    finally:
        os.close(descriptor)


def hash_file(path: str, size: int, stop: Callable[[], None]) -> HashedFile | None:
    """What a file is now, which had this size; None where there is none, or it cannot be read."""
    try:
        descriptor = _open(path)
    except SourceFileError:
        return None
    try:
        return _hash(descriptor, size, stop)
    except SourceFileError:
        return None
    finally:
        os.close(descriptor)


def _copy(descriptor: int, target: str, status: os.stat_result, stop: Callable[[], None]) -> HashedFile:
    """The hash is that of what was read, so that a look at what was written can be compared with it."""
    written = os.open(target, NEW_FILE, 0o666)
    try:
        hashed = _hash(descriptor, status.st_size, stop, written)
        os.utime(written, ns=(status.st_atime_ns, status.st_mtime_ns))
    except SourceFileError:
        os.unlink(target)  # noqa: PTH108 - a Path for each file costs more than its hash
        raise
    finally:
        os.close(written)
    return hashed


def _open(source: str) -> int:
    """A descriptor of what is no link."""
    try:
        return os.open(source, _FLAGS)
    except (OSError, ValueError) as error:
        is_link = isinstance(error, OSError) and error.errno == errno.ELOOP
        raise SourceFileError("It is a symbolic link." if is_link else f"It cannot be read: {error}.") from None


def _link(source: str, target: str, status: os.stat_result) -> bool:
    """Whether ``target`` is now another name of the very file that was opened."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno in _CANNOT_LINK:
            return False
        raise
    if os.path.samestat(status, os.lstat(target)):
        return True
    os.unlink(target)  # noqa: PTH108 - as above
    raise SourceFileError("It was replaced while it was read.")


def _hash(descriptor: int, size: int, stop: Callable[[], None], target: int | None = None) -> HashedFile:
    """The rest of a file of about this size, written to ``target`` meanwhile; SourceFileError."""
    most = min(size + 1, BLOCK)  # a buffer of a megabyte for each small file would take longer than its content
    digest, count, is_over = hashlib.sha256(), 0, False
    while not is_over:
        stop()
        block = _read(descriptor, most)
        digest.update(block)
        count += len(block)
        if target is not None and block:
            write_all(target, block)
        is_over = not block or (count == size and len(block) < most)  # its end: a call less for each small file
    return HashedFile(digest.hexdigest(), count)


def _read(descriptor: int, most: int) -> bytes:
    try:
        return os.read(descriptor, most)
    except OSError as error:
        raise SourceFileError(f"It cannot be read: {error.strerror}.") from None


def write_all(target: int, data: bytes) -> None:
    """Write to a descriptor, however often that takes."""
    count = os.write(target, data)
    while count < len(data):
        count += os.write(target, memoryview(data)[count:])


def remove_source(source: Path, target: Path) -> None:
    """Delete a file of the source whose content is in the collection; it stays where that has another size."""
    with suppress(FileNotFoundError):
        if source.lstat().st_size == target.stat().st_size:
            source.unlink()
