"""Owns copying one file while its hash is made, and hashing one that is there."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from archivebox.lib.files import BLOCK

PERMISSIONS = 0o777
"""Bits of a mode that are kept: nothing in a collection runs as its owner for others."""


class UnreadableFileError(Exception):
    """A file that cannot be read, or is none; the message is its path and why."""


class CopiedFile(NamedTuple):
    """What was copied. ``status`` is the original's; ``was_steady``: nobody wrote to it meanwhile."""

    status: os.stat_result
    size: int
    sha256: str
    was_steady: bool


def copy_hashed(source: str, target: str, *, mode: int | None = None, mtime_ns: int | None = None) -> CopiedFile:
    """Copy a regular file, with its permissions and time unless others are given.

    UnreadableFileError for the source; OSError for the target, of which nothing is left then.
    """
    with _opened(source) as descriptor:
        status = os.fstat(descriptor)
        copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            size, sha256 = _copy(descriptor, copy, source)
            os.fchmod(copy, (status.st_mode if mode is None else mode) & PERMISSIONS)
            time = status.st_mtime_ns if mtime_ns is None else mtime_ns
            os.utime(copy, ns=(time, time))
        except BaseException:
            Path(target).unlink()
            raise
        finally:
            os.close(copy)
        after = os.fstat(descriptor)
    is_same = (after.st_ctime_ns, after.st_size) == (status.st_ctime_ns, size)
    return CopiedFile(status, size, sha256, is_same)


def digest_of(path: str) -> str:
    """SHA-256 of a regular file. UnreadableFileError."""
    with _opened(path) as descriptor:
        return _copy(descriptor, None, path)[1]


@contextmanager
def _opened(path: str) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableFileError(f"{path}: no regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def _copy(source: int, target: int | None, path: str) -> tuple[int, str]:
    """Size and SHA-256 of what was read, and written if there is a target."""
    digest, size = hashlib.sha256(), 0
    while block := _read(source, path):
        digest.update(block)
        size += len(block)
        rest = memoryview(block) if target is not None else b""
        while rest and target is not None:
            rest = rest[os.write(target, rest) :]
    return size, digest.hexdigest()


def _read(source: int, path: str) -> bytes:
    try:
        return os.read(source, BLOCK)
    except OSError as error:
        raise UnreadableFileError(f"{path}: {error.strerror}") from error
