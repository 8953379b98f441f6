"""Go through the files of a folder in the order of a manifest, copy and hash them; holes stay holes."""

import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from archivebox.lib.files import BLOCK

PERMISSIONS = 0o777
"""Bits of a mode that are kept: nothing in a collection runs as its owner for others."""
_ZEROS = bytes(BLOCK)


class UnreadableFileError(Exception):
    """A file that cannot be read, or is none; the message is its path and why."""


def walk(
    root: Path, unread: list[str], left_out: Collection[str] = (), followed: Collection[str] = ()
) -> Iterator[tuple[str, os.stat_result]]:
    """Path and status of all below ``root``: what is in a folder by name, then each folder in it. Without recursion.

    ``left_out`` and ``followed`` (what a symbolic link leads to is taken) are names in ``root`` itself. What vanishes
    meanwhile is passed over; what cannot be read is added to ``unread``.
    """
    prefixes = [""]
    while prefixes:
        prefix, folders = prefixes.pop(), []
        try:
            names = sorted(os.listdir(os.path.join(root, prefix)))  # noqa: PTH118, PTH208 - a third of the time
        except OSError as error:
            unread.extend([] if isinstance(error, FileNotFoundError) else [prefix])
            continue
        for path in [prefix + name for name in names if prefix or name not in left_out]:
            try:
                status = os.stat(f"{root}/{path}", follow_symlinks=path in followed)  # noqa: PTH116 - as above
            except OSError as error:  # a link that is followed, to nothing: its disk is not mounted
                unread.extend([] if isinstance(error, FileNotFoundError) and path not in followed else [path])
                continue
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                folders.append(f"{path}/")
        prefixes.extend(reversed(folders))


def walk_order(path: str) -> tuple[list[str], str]:
    """The key by which :func:`walk` sorts paths."""
    *folders, name = path.split("/")
    return folders, name


def copy_file(source: str, target: str, *, is_hashed: bool = True) -> tuple[int, str]:
    """Copy a regular file with its permissions and time; its size, and its SHA-256 if that is wanted.

    UnreadableFileError for the source; OSError for the target, of which nothing is left then.
    """
    with _opened(source) as descriptor:
        status = os.fstat(descriptor)
        copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            read = _read(descriptor, source, copy, is_hashed=is_hashed)
            os.fchmod(copy, status.st_mode & PERMISSIONS)
            os.utime(copy, ns=(status.st_mtime_ns, status.st_mtime_ns))
        except BaseException:
            Path(target).unlink()
            raise
        finally:
            os.close(copy)
    return read


def digest_of(path: str) -> str:
    """SHA-256 of a regular file. UnreadableFileError."""
    with _opened(path) as descriptor:
        return _read(descriptor, path)[1]


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


def _read(source: int, path: str, target: int | None = None, *, is_hashed: bool = True) -> tuple[int, str]:
    """Size and SHA-256 of what was read, and written if there is a target. Holes are neither read nor written."""
    digest, position, block = hashlib.sha256(), 0, b"-"
    while block:
        try:
            data_at = _next_data(source, position)
            block = os.read(source, BLOCK)
        except OSError as error:
            raise UnreadableFileError(f"{path}: {error.strerror}") from error
        if is_hashed:
            for start in range(position, data_at, BLOCK):
                digest.update(_ZEROS[: data_at - start])
            digest.update(block)
        position = data_at + len(block)
        if target is not None:
            os.ftruncate(target, data_at)
            os.lseek(target, data_at, os.SEEK_SET)
            rest = memoryview(block)
            while rest:
                rest = rest[os.write(target, rest) :]
    return position, digest.hexdigest() if is_hashed else ""


def _next_data(source: int, position: int) -> int:
    """Where the next data of a file begins, or its end; the descriptor then reads there."""
    try:
        return os.lseek(source, position, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a hole up to the end, or the end
            return max(position, os.lseek(source, 0, os.SEEK_END))
        if error.errno == errno.EINVAL:  # a file system that knows of no holes
            return position
        raise
