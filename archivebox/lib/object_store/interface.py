"""Owns what every object store offers, its errors, and reading an object in parts."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import BinaryIO, NamedTuple, Protocol

from archivebox.lib.files import SeekableReader


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


class UploadMissingError(ObjectStoreError):
    """The store knows the upload no more: it was completed, aborted, or removed by a rule of the bucket."""


class RequestLimits(NamedTuple):
    """Seconds until a connection stands and until more of an answer comes, and how often a request is made at most."""

    connect: float = 5.0
    answer: float = 30.0
    attempts: int = 3


class ListedObject(NamedTuple):
    """One object of a store: size in bytes, and when it was stored, by the clock of the store."""

    key: str
    size: int
    modified: datetime


class UnfinishedUpload(NamedTuple):
    """An upload that was begun and neither completed nor aborted."""

    key: str
    upload: str
    begun: datetime


class ObjectStore(Protocol):
    """Objects under keys such as ``pages/0198…/1.zip``.

    A key has parts that are separated by ``/``; none is empty, longer than 255 bytes, or begins with a dot, and no key
    is the beginning of another up to a ``/``. ValueError for other keys. An object appears whole or not at all. Every
    method may raise StoreUnavailableError and StoreRefusedError, and returns within the store's time limits.
    Objects may be used by several threads, and not by a fork of the process that made the store.
    """

    def put_file(self, key: str, source: BinaryIO, size: int, upload: str = "") -> None:
        """Store ``size`` bytes of a seekable source, read in blocks; durable on return.

        ``upload``: from ``begin_upload``, for a key that has no object yet. Parts that an earlier call stored under it
        are compared with the source, and only others are sent. Where that call did all and its caller did not hear of
        it, this one returns at once.
        UploadMissingError if there is no such upload, or the object was stored from other bytes. Without ``upload``
        nothing is left where this fails. An OSError of the source, or EOFError if it has fewer bytes, is passed on.
        """
        ...

    def begin_upload(self, key: str) -> str:
        """The id of an upload that can be resumed by any process."""
        ...

    def abort_upload(self, key: str, upload: str) -> None:
        """Remove an upload with its parts; nothing if there is none."""
        ...

    def uploads(self, prefix: str) -> Iterator[UnfinishedUpload]:
        """All unfinished uploads of keys that begin with ``prefix``."""
        ...

    def put_bytes(self, key: str, data: bytes) -> None:
        """Store a small object; durable on return."""
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
        """Delete objects; those that are not there are passed over."""
        ...

    def list(self, prefix: str) -> Iterator[ListedObject]:
        """All objects whose keys begin with ``prefix``, in the order of the bytes of their keys."""
        ...


PART = 8_000_000
"""Bytes. An object of at most so many is sent in one request. (S3 takes parts of 5 MiB and more, except the last.)"""
MOST_PARTS = 1_000
"""S3 takes 10,000, and parts of up to 5 GiB; other servers take 1,000."""
BLOCK = 256 * 1024
"""Bytes that are in memory at a time."""
_KEY_MAX = 1_024
_NAME_MAX = 255


class Part(NamedTuple):
    """A range of an object; numbers begin at 1."""

    number: int
    start: int
    size: int


def is_sent_at_once(size: int) -> bool:
    """Whether an object of so many bytes needs no upload that can be resumed."""
    return size <= PART


def parts_of(size: int) -> Iterator[Part]:
    """The same for the same size, so that another process can continue an upload."""
    length = max(PART, -(-size // MOST_PARTS))
    for number, start in enumerate(range(0, size, length), 1):
        yield Part(number, start, min(length, size - start))


def check_key(key: str) -> str:
    """Return a key that every store can have; ValueError for another."""
    names = key.split("/")
    too_long = len(key.encode()) > _KEY_MAX or any(len(name.encode()) > _NAME_MAX for name in names)
    if too_long or "\0" in key or any(not name or name.startswith(".") for name in names):
        raise ValueError(f"not a valid key of an object: {key!r}")
    return key


class SourceWindow(SeekableReader):
    """A range of a seekable source as a file; EOFError if the source ends before it does."""

    def __init__(self, source: BinaryIO, start: int, size: int) -> None:
        super().__init__(size)
        self._source, self._start = source, start
        self._failure: OSError | EOFError | None = None

    def __len__(self) -> int:
        return self.size

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), self.size - self._position)
        if wanted <= 0:
            return 0
        try:
            self._source.seek(self._start + self._position)
            data = self._source.read(wanted)
            if not data:
                raise EOFError(f"the source ends {self.size - self._position:,} bytes too early")  # noqa: TRY301
        except (OSError, EOFError) as error:
            self._failure = error
            raise
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def blocks(self) -> Iterator[bytes]:
        """The bytes from the position to the end."""
        while data := self.read(BLOCK):
            yield data

    @contextmanager
    def failing_as_source(self) -> Iterator[None]:
        """Raise the error of the source itself, where the client library that read from it has raised another."""
        try:
            yield
        except Exception:
            if self._failure is not None:
                raise self._failure from None
            raise
