"""Owns writing, reading and locking files so that a crash at any moment leaves them whole."""

import errno
import fcntl
import io
import mimetypes
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

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
    """One file below a folder: path relative to it with ``/``, size in bytes, media type, and when it was changed.

    ``changed_at`` (seconds of the wall clock) is that of the inode: whoever writes a file may set any other time of it.
    """

    path: str
    size: int
    mimetype: str
    changed_at: float = 0.0


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
        fsync_path(path.parent)


def read_regular(path: Path | str, most: int) -> bytes:
    """What is in a file of at most so many bytes; OSError for a link, a pipe, or whatever else is none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "no regular file")
        if status.st_size > most:
            raise OSError(errno.EFBIG, f"more than {most:,} bytes")
        return os.read(descriptor, status.st_size)
    finally:
        os.close(descriptor)


@lru_cache(maxsize=4096)  # plugins name their files alike: 0.1 µs instead of 15
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
    return sorted(iter_outputs(folder))


def iter_outputs(folder: Path) -> Iterator[OutputFile]:
    """The same in the order in which they are found, those of ``folder`` itself first, one in memory at a time."""
    return _files_among(walk_entries(folder))


def iter_statuses(folder: Path) -> Iterator[os.stat_result]:
    """What the file system knows of each regular file below ``folder``, without their paths and types."""
    return filter(None, (_status_of(entry) for _, entry in walk_entries(folder)))


def walk_few(folder: Path, most: int) -> list[OutputFile] | None:
    """The same as ``walk_outputs`` where at most so many files, folders and links lie there; None where more do."""
    entries = list(islice(walk_entries(folder), most + 1))
    return sorted(_files_among(entries)) if len(entries) <= most else None


def _files_among(entries: Iterable[tuple[str, "os.DirEntry[str]"]]) -> Iterator[OutputFile]:
    for path, entry in entries:
        status = _status_of(entry)
        if status is not None:
            yield OutputFile(path, status.st_size, mimetype_of(entry.name), status.st_ctime)


def walk_entries(folder: Path | str) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """All that lies below ``folder``, each with its path; a folder's own entries before those of the folders in it.

    However deep: os.walk and pathlib of Python 3.11 go down by recursion, which a hook that makes a thousand folders
    in each other would have broken its worker with. What cannot be read is left out.
    """
    prefixes = [""]
    while prefixes:
        prefix = prefixes.pop()
        with suppress(OSError), os.scandir(os.path.join(folder, prefix)) as entries:  # noqa: PTH118 - a third of the time
            for entry in entries:
                yield prefix + entry.name, entry
                if entry.is_dir(follow_symlinks=False):
                    prefixes.append(f"{prefix}{entry.name}/")


def _status_of(entry: "os.DirEntry[str]") -> os.stat_result | None:
    """None: no regular file, gone, or deeper than a path may be long."""
    try:
        return entry.stat(follow_symlinks=False) if entry.is_file(follow_symlinks=False) else None
    except OSError:
        return None


def fsync_tree(folder: Path) -> None:
    """Make every file and folder below ``folder`` survive a power cut; OSError as soon as one cannot be.

    Links, sockets and pipes are passed over.
    """
    for _, entry in walk_entries(folder):
        with suppress(FileNotFoundError):
            is_folder = entry.is_dir(follow_symlinks=False) and os.access(entry, os.R_OK)
            if is_folder or _status_of(entry) is not None:
                fsync_path(Path(entry.path))
    fsync_path(folder)


def remove_tree(folder: Path) -> None:
    """Delete ``folder`` and all that is in it; OSError where something cannot be, or ``folder`` is a link.

    However deep: each folder is first moved up beside the others. No link is followed, whoever puts one in its place.
    """
    with _opened(folder) as root:
        names = [os.curdir]
        for name in names:  # it grows
            with _opened(name, root) as parent, os.scandir(parent) as entries:
                for entry in list(entries):
                    if entry.is_dir(follow_symlinks=False):
                        names.append(str(uuid4()))
                        os.rename(entry.name, names[-1], src_dir_fd=parent, dst_dir_fd=root)
                    else:
                        os.unlink(entry.name, dir_fd=parent)
        for name in names[1:]:
            os.rmdir(name, dir_fd=root)
    folder.rmdir()


@contextmanager
def _opened(folder: Path | str, beside: int | None = None) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=beside)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def fsync_path(path: Path) -> None:
    """Make one file, or the names in a folder, survive a power cut. OSError."""
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


class SeekableReader(io.RawIOBase):
    """A file of ``size`` bytes that is only read; ``_position`` is where, and ``readinto`` moves it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        self._position = max(0, base + offset)
        return self._position
