"""Owns bringing one file into the collection: it is copied or linked, and hashed."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from functools import partial
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
            raise SourceFileError("It is no regular file.")
        blocks = _blocks(descriptor, status.st_size, stop)
        if transfer is not Transfer.COPY and _link(source, target, status):
            return _hash(blocks)
        return _copy(blocks, target, status)
    finally:
        os.close(descriptor)


def hash_file(path: str, stop: Callable[[], None]) -> HashedFile | None:
    """What a file is now; None where there is none, or it cannot be read."""
    try:
        descriptor = _open(path)
    except SourceFileError:
        return None
    try:
        status = os.fstat(descriptor)
        return _hash(_blocks(descriptor, status.st_size, stop)) if stat.S_ISREG(status.st_mode) else None
    except SourceFileError:
        return None
    finally:
        os.close(descriptor)


def _copy(blocks: Iterator[bytes], target: str, status: os.stat_result) -> HashedFile:
    """The hash is that of what was read, so that a look at what was written can be compared with it."""
    written = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        hashed = _hash(blocks, partial(_write, written))
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


def _hash(blocks: Iterator[bytes], on_block: Callable[[bytes], None] | None = None) -> HashedFile:
    """Hand each block to ``on_block`` as it is hashed."""
    digest, size = hashlib.sha256(), 0
    for block in blocks:
        digest.update(block)
        size += len(block)
        if on_block is not None:
            on_block(block)
    return HashedFile(digest.hexdigest(), size)


def _blocks(descriptor: int, size: int, stop: Callable[[], None]) -> Iterator[bytes]:
    """What is in a file of about this size; SourceFileError."""
    most = min(size + 1, BLOCK)  # a buffer of a megabyte for each small file would take longer than its content
    try:
        while block := os.read(descriptor, most):
            yield block
            stop()
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
