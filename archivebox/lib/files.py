"""Owns writing, reading and locking files so that a crash at any moment leaves them whole."""

import errno
import fcntl
import mimetypes
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

BLOCK = 1024 * 1024
"""Bytes read at a time when hashing."""

_TYPES = {
    ".warc.gz": "application/warc",
    ".warc": "application/warc",
    ".wacz": "application/wacz",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
    ".json": "application/json",
    ".cdxj": "text/plain",
    ".md": "text/markdown",
    ".log": "text/plain",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".jxl": "image/jxl",
    ".svg": "image/svg+xml",
    ".ico": "image/vnd.microsoft.icon",
    ".mhtml": "multipart/related",
    ".mjs": "text/javascript",
    ".js": "text/javascript",
    ".wasm": "application/wasm",
    ".m4a": "audio/mp4",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".mkv": "video/x-matroska",
    ".webm": "video/webm",
    ".mp4": "video/mp4",
    ".vtt": "text/vtt",
    ".srt": "application/x-subrip",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".epub": "application/epub+zip",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".gz": "application/gzip",
    ".zst": "application/zstd",
    ".xz": "application/x-xz",
    ".bz2": "application/x-bzip2",
}
"""Types that the standard library's table lacks, or that it knows only with the system's files."""

_TABLE = mimetypes.MimeTypes(filenames=())


class OutputFile(NamedTuple):
    """One file below a folder: path relative to it with ``/``, size in bytes, media type."""

    path: str
    size: int
    mimetype: str


def atomic_write(path: Path, data: bytes | str, mode: int = 0o600, *, durable: bool = False) -> None:
    """Put ``data`` into place by rename, so that readers see the old file or the new one; OSError if it cannot be.

    ``durable``: also survives a power cut (two fsyncs). The folder must exist.
    """
    content = data.encode() if isinstance(data, str) else data
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    if durable:
        _fsync(path.parent)


def read_regular(path: Path, most: int) -> bytes:
    """What is in a file of at most so many bytes; OSError for a link, a pipe, or whatever else is none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "no regular file")
        if status.st_size > most:
            raise OSError(errno.EFBIG, f"more than {most:,} bytes")
        return file.read(most)


def mimetype_of(name: str) -> str:
    """The media type that a file's name speaks of; ``application/octet-stream`` if it speaks of none."""
    lower = name.lower()
    suffixes = Path(lower).suffixes[-2:]
    for suffix in ("".join(suffixes), suffixes[-1] if suffixes else ""):
        if suffix in _TYPES:
            return _TYPES[suffix]
    guessed, encoding = _TABLE.guess_type(lower)
    return "application/octet-stream" if guessed is None or encoding else guessed


def walk_outputs(folder: Path) -> list[OutputFile]:
    """The regular files below ``folder`` in order of path; a folder that is not there has none.

    Symbolic links are neither followed nor listed, so that nothing outside the folder is ever read through them.
    Files that vanish during the walk, or cannot be read, are left out.
    """
    found: list[OutputFile] = []
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        for name in names:
            path = Path(parent, name)
            with suppress(OSError):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode):
                    relative = path.relative_to(folder).as_posix()
                    found.append(OutputFile(relative, status.st_size, mimetype_of(name)))
    return sorted(found)


def fsync_tree(folder: Path) -> None:
    """Make every file and folder below ``folder`` survive a power cut; OSError as soon as one cannot be.

    Links, sockets and pipes are passed over.
    """
    for parent, _, names in os.walk(folder, topdown=False, followlinks=False):
        for name in names:
            path = Path(parent, name)
            with suppress(FileNotFoundError):
                if stat.S_ISREG(path.lstat().st_mode):
                    _fsync(path)
        _fsync(Path(parent))


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot sync a folder, and say so this way
            raise
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path, *, blocking: bool = True) -> Iterator[int | None]:
    """Hold the lock of ``path`` (a file, made if missing, or a folder); yields its descriptor, None if it is taken.

    flock(2): belongs to the open file and ends with the last process that inherited the descriptor. The file stays
    where it is: removing it would let two holders lock two files of one name.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor if _lock(descriptor, blocking=blocking) else None
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, blocking: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if blocking else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
