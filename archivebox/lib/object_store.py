"""Owns files under keys in a folder or a bucket: what each store offers, its errors, its URL, and the one in a folder.

    ObjectStoreError
    ├── StoreUnavailableError    the store does not answer, or not now: try again later
    ├── StoreRefusedError        something has to be set differently: the message says what
    ├── ObjectMissingError       no object has this key
    └── ObjectChangedError       the object was replaced while it was read: read it from its start

Buckets are read and written by obstore (``cloud_store.py``). Folders are not: obstore does not wait until a file is on
the disk, and takes a folder that is not mounted for one without objects.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import uuid4

from archivebox.lib.files import fsync_path

BLOCK = 256 * 1024
"""Bytes that are read at a time."""
FORMS = "file:///folder, s3://bucket/prefix?endpoint=https://…&region=…, gs://bucket/prefix or az://account/container/prefix"
_KEY_MAX = 1_024
_NAME_MAX = 200
_MAKE_FOLDER_ATTEMPTS = 10
"""Another process may delete the last object of a folder, and the folder, while this one stores the next."""
_REFUSALS = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP,
}  # fmt: skip
"""Numbers of errors that do not pass by waiting."""


class ObjectStoreError(Exception):
    """What was asked of an object store was not done; the message is for people."""


class StoreUnavailableError(ObjectStoreError):
    """The store does not answer, or cannot do it now. The same call may succeed later."""


class StoreRefusedError(ObjectStoreError):
    """The store refuses, and will go on doing so until its settings, credentials or permissions are changed."""


class ObjectMissingError(ObjectStoreError):
    """No object has this key."""


class ObjectChangedError(ObjectStoreError):
    """The object was replaced while it was read. What was read so far belongs to the former one."""


class RequestLimits(NamedTuple):
    """Seconds until a connection stands and until more of an answer comes, and how often a request is made at most."""

    connect: float = 5.0
    answer: float = 30.0
    attempts: int = 3


DEFAULT_LIMITS = RequestLimits()


class ListedObject(NamedTuple):
    """One object of a store: size in bytes, and when it was stored, by the clock of the store."""

    key: str
    size: int
    modified: datetime


class ObjectStore(Protocol):
    """Objects under keys such as ``pages/0198…/1.zip``.

    A key has parts that are separated by ``/``; none is empty, longer than 200 bytes, or begins with a dot, and no key
    is the beginning of another up to a ``/``. ValueError for other keys. An object appears whole or not at all. Every
    method may raise StoreUnavailableError and StoreRefusedError, and returns within the store's time limits.
    Objects may be used by several threads, and not by a fork of the process that made the store.
    """

    def put(self, key: str, blocks: Iterable[bytes], size: int = 0) -> None:
        """Store the blocks one after the other; durable on return. ``size``: about how many bytes they are.

        An error of the blocks is raised as it is, and leaves a former object as it was.
        """
        ...

    def read(self, key: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The bytes from ``start`` up to ``stop`` (not included; None: all) in blocks of at most a few hundred kB.

        Nothing beyond the object's end. A connection that breaks is continued where it broke. ObjectMissingError,
        ObjectChangedError. Nothing is asked of the store before the first block is.
        """
        ...

    def size_of(self, key: str) -> int | None:
        """The object's size in bytes; None if there is none."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects, and what killed uploads have left of them; those that are not there are passed over."""
        ...

    def list(self, prefix: str) -> Iterator[ListedObject]:
        """All objects whose keys begin with ``prefix``, in the order of the bytes of their keys."""
        ...


def check_key(key: str) -> str:
    """Return a key that every store can have; ValueError for another."""
    names = key.split("/")
    too_long = len(key.encode()) > _KEY_MAX or any(len(name.encode()) > _NAME_MAX for name in names)
    if too_long or not key.isprintable() or any(not name or name.startswith(".") for name in names):
        raise ValueError(f"not a valid key of an object: {key!r}")
    return key


def open_store(url: str, limits: RequestLimits = DEFAULT_LIMITS) -> ObjectStore:
    """The store that a URL names; nothing is asked of it yet. ValueError for a URL that names none."""
    split = urlsplit(url)
    options = dict(parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query)))
    if split.scheme == "file":
        if split.netloc not in {"", "localhost"} or options or split.fragment or not split.path.startswith("/"):
            raise ValueError(f"not the URL of a folder: {url!r}. It has to be file:///folder")
        return FolderStore(Path(unquote(split.path)))
    if split.scheme not in {"s3", "gs", "az"}:
        raise ValueError(f"not the URL of a store: it has to be {FORMS}")
    from archivebox.lib.cloud_store import open_bucket  # 20 ms, for those who have a bucket

    if not split.netloc or "@" in split.netloc or split.fragment:
        forms = FORMS.partition(", ")[2]
        raise ValueError(f"not the URL of a bucket: it has to be {forms}; keys belong in AWS_*, GOOGLE_* or AZURE_*")
    prefix = unquote(split.path).strip("/")
    if prefix:
        check_key(prefix)
    return open_bucket(split.scheme, split.netloc, prefix, options, limits)


class FolderStore:
    """An object store in a folder, which has to exist, and which several machines may share.

    <folder>/<key>                          an object
    <folder>/<folder of key>/.<name>.<id>   one that is being stored
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, blocks: Iterable[bytes], size: int = 0) -> None:
        del size
        path = self._path_of(key)
        with self._translated():
            file = _create_beside(path)
        received = Path(file.name)
        try:
            with file:
                for block in blocks:
                    with self._translated():
                        file.write(block)
                with self._translated():
                    file.flush()
                    os.fsync(file.fileno())
                    received.replace(path)
                    for folder in path.parents[: len(path.relative_to(self._folder).parts)]:  # any of them may be new
                        fsync_path(folder)
        except BaseException:
            with suppress(OSError):
                received.unlink()
            raise

    def read(self, key: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        path = self._path_of(key)
        with self._translated():
            try:
                file = path.open("rb")
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                raise ObjectMissingError(f"There is no object {key!r} in {self._folder}.") from None
            with file:
                left = (os.fstat(file.fileno()).st_size if stop is None else stop) - start
                file.seek(start)
                while left > 0 and (block := file.read(min(BLOCK, left))):
                    left -= len(block)
                    yield block

    def size_of(self, key: str) -> int | None:
        path = self._path_of(key)
        with self._translated():
            return path.stat().st_size if path.is_file() else None

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            path = self._path_of(key)
            with self._translated():
                with suppress(FileNotFoundError, NotADirectoryError), os.scandir(path.parent) as entries:
                    for entry in entries:
                        if entry.name == path.name or entry.name.startswith(f".{path.name}."):
                            Path(entry.path).unlink(missing_ok=True)
                self._remove_empty_folders(path.parent)

    def list(self, prefix: str) -> Iterator[ListedObject]:
        self._check_exists()
        with self._translated():
            yield from _list(self._folder, "", prefix)

    def _check_exists(self) -> None:
        if not self._folder.is_dir():
            raise StoreRefusedError(
                f"The folder {self._folder} does not exist. Create it, or mount what is to be there."
            )

    def _path_of(self, key: str) -> Path:
        self._check_exists()
        return self._folder / check_key(key)

    def _remove_empty_folders(self, folder: Path) -> None:
        while folder != self._folder:
            try:
                folder.rmdir()
            except OSError:  # not empty, or gone
                return
            folder = folder.parent

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The errors of the file system as those of a store."""
        try:
            yield
        except OSError as error:
            message = f"The folder {self._folder}: {error.strerror or error}"
            kind = StoreRefusedError if error.errno in _REFUSALS else StoreUnavailableError
            raise kind(message) from error


def _create_beside(path: Path) -> BinaryIO:
    """The new file that is to become an object, in its folder, which nobody deletes from then on."""
    name = f".{path.name}.{uuid4().hex}"
    for attempt in range(_MAKE_FOLDER_ATTEMPTS):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return path.with_name(name).open("xb")
        except FileNotFoundError:
            if attempt == _MAKE_FOLDER_ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _list(folder: Path, path: str, prefix: str) -> Iterator[ListedObject]:
    """Below one folder, in the order of keys: a folder sorts as its name with the ``/`` that follows it."""
    try:
        with os.scandir(folder / path) as scanned:
            entries = [(f"{path}{entry.name}" + "/" * entry.is_dir(), entry) for entry in scanned]
    except FileNotFoundError:  # its last object was deleted at this moment
        return
    for key, entry in sorted(entries, key=lambda each: os.fsencode(each[0])):
        if entry.name.startswith("."):
            continue
        if key.endswith("/"):
            if key.startswith(prefix) or prefix.startswith(key):
                yield from _list(folder, key, prefix)
        elif key.startswith(prefix):
            with suppress(FileNotFoundError):
                status = entry.stat()
                yield ListedObject(key, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
